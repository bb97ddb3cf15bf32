"""Concurrent sweeps, receipts and kills: a hold moves once, completely or not at all."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import partial

import pytest
from django.db import OperationalError, transaction
from django.utils import timezone

from billing.models import Transfer, Wallet
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt
from channels.outcomes import transitions
from tests.api.blocking import end_waiting, start_blocked
from tests.api.clients import Api, ClientOf
from tests.api.races import at_once
from tests.channels.fallback_stages import (
    MOVED,
    enable_fallback,
    event_applier,
    fallen_back,
    past_patience,
    transfers,
    tries,
)
from tests.channels.message_stages import accepted, claim, send
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("falls_back")]


def test_concurrent_sweeps_fall_back_once(api: Api) -> None:
    messages = [accepted(api, f"+7916123456{n}").message for n in range(5)]
    age_rows(seconds=31)

    at_once([sweeps.fall_back] * 6)
    sweeps.fall_back()

    assert [transfers(message) for message in messages] == [MOVED] * 5
    assert ledger.balance(api.company.pk) == (920, 80)


def test_concurrent_receipt_and_sweep_agree(api: Api) -> None:
    attempt = past_patience(api)

    several: list[Callable[[], object]] = [
        sweeps.fall_back,
        event_applier(attempt, EventKind.DELIVERED),
    ]
    at_once(several * 3)

    message = attempt.message
    message.refresh_from_db()
    assert (message.state, message.channel, message.due_at) == ("delivered", "whatsapp", None)
    is_charged = transfers(message)[-1][0] == "capture"
    assert ledger.balance(api.company.pk) == (999 if is_charged else 1000, 0)


def test_patience_is_rechecked_under_the_lock(api: Api) -> None:
    message = accepted(api).message

    assert transitions.fall_back([message.pk]) == []

    assert transfers(message) == [("hold", 1, "")]


def test_fallback_skips_a_message_being_claimed(api: Api) -> None:
    message = send(api)
    age_rows(seconds=31)

    with transaction.atomic():
        claim()
        assert at_once([sweeps.fall_back]) == [0]
    assert sweeps.fall_back() == 1

    assert (tries(message), transfers(message)) == ([("whatsapp", "expired")], MOVED)


def test_kill_during_a_fallback_rolls_back(api: Api) -> None:
    attempt = past_patience(api)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            Wallet.objects.select_for_update().get(company=api.company)
            moving = start_blocked(pool, sweeps.fall_back)
            end_waiting()
        assert isinstance(moving.exception(), OperationalError)

    message = attempt.message
    assert (tries(message), transfers(message)) == ([("whatsapp", "sent")], [("hold", 1, "")])
    assert ledger.balance(api.company.pk) == (999, 1)
    assert sweeps.fall_back() == 1
    assert transfers(message) == MOVED


def test_worker_killed_during_the_sms_call_leaves_it_ambiguous(api: Api) -> None:
    first = fallen_back(api)
    claim()  # and no word of it: the worker is dead
    age_rows(seconds=30)
    Attempt.objects.filter(n=2).update(lease_until=timezone.now() - timedelta(seconds=1))

    sweeps.sweep()
    assert claim() == []

    assert tries(first.message) == [("whatsapp", "expired"), ("sms", "ambiguous")]
    assert ledger.balance(api.company.pk) == (984, 16)
    age_rows(seconds=600)
    sweeps.sweep()
    assert transfers(first.message) == [*MOVED, ("release", 16, "expired")]
    assert ledger.balance(api.company.pk) == (1000, 0)


@pytest.mark.parametrize("round_number", range(3))
def test_groups_of_several_companies_do_not_deadlock(
    api: Api, client_of: ClientOf, round_number: int
) -> None:
    apis = [api, *(client_of(CompanyFactory.create()) for _ in range(3))]
    for client in apis[1:]:
        enable_fallback(client.company, "whatsapp", "sms")
        ledger.grant(company=client.company, amount=1000, reason="test")
    several = [accepted(client, f"+7916123456{n}") for n, client in enumerate(apis)]
    again = [accepted(client, f"+7916123457{n}") for n, client in enumerate(apis)]

    def group(attempts: list[Attempt], *kinds: EventKind) -> Callable[[], object]:
        whats = list(kinds) * len(attempts)
        events = [
            Event(attempt.message_id, attempt.id, what)
            for attempt, what in zip(attempts, whats, strict=False)
        ]
        return partial(transitions.commit_events, events)

    at_once(
        [
            group(several, EventKind.REFUSED, EventKind.DELIVERED),
            group(again[::-1], EventKind.REFUSED, EventKind.DELIVERED),
            group(again[::2] + several[::2], EventKind.DELIVERED),
            sweeps.fall_back,
        ]
    )

    assert Transfer.objects.filter(kind="hold").count() >= 8
