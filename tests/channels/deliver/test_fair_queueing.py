"""One company's backlog does not hold up the messages of others."""

from collections.abc import Callable
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from channels.deliver import claims, fair_queueing, sweeps
from channels.models import Message, OpenMessage
from tests.api.races import at_once
from tests.channels.accounts import create_account
from tests.factories import AttemptFactory, MessageFactory
from tests.plans import explain, nodes, reads


def backlog(company: Company, **fields: Any) -> list[Message]:
    """Returns the waiting messages, oldest first."""
    count = 3 * fair_queueing.FRONT
    return [due(minutes=1 + count - n, company=company, **fields) for n in range(count)]


def due(*, minutes: int = 1, **fields: Any) -> Message:
    ago = timezone.now() - timedelta(minutes=minutes)
    message: Message = MessageFactory.create(due_at=ago, **fields)
    return message


def claimed_ids(limit: int) -> list[object]:
    return [claimed.message_id for claimed in claims.claim(limit)]


@pytest.mark.parametrize("kind", Message.Kind.values)
def test_message_waits_for_no_more_than_the_front_of_others(company: Company, kind: str) -> None:
    priority = int(kind == "link")
    content: dict[str, Any] = {"kind": kind, "content": kind, "priority": priority}
    crowd = backlog(company, **content)
    late = due(**content)

    sweeps.sweep()

    assert set(claimed_ids(fair_queueing.FRONT + 1)) == {
        late.pk,
        *(message.pk for message in crowd[: fair_queueing.FRONT]),
    }


def test_backlog_moves_up_in_its_order_and_is_served_alone(company: Company) -> None:
    crowd = backlog(company)

    for first in range(0, len(crowd), fair_queueing.FRONT):
        fair_queueing.reorder()
        # A claim takes the oldest, but returns them in the order of its plan.
        assert set(claimed_ids(fair_queueing.FRONT)) == {
            message.pk for message in crowd[first : first + fair_queueing.FRONT]
        }


def test_codes_of_a_company_stay_before_its_links(company: Company) -> None:
    backlog(company, kind="link", content="link", priority=1)
    code = due(company=company)

    fair_queueing.reorder()

    assert claimed_ids(1) == [code.pk]


def test_short_queue_costs_one_query(
    company: Company, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(fair_queueing.FRONT):
        due(company=company)

    with django_assert_num_queries(1):
        assert fair_queueing.reorder() == 0


@pytest.mark.django_db(transaction=True)
def test_message_that_is_being_claimed_is_left_alone(company: Company) -> None:
    crowd = backlog(company)

    with transaction.atomic():
        Message.objects.select_for_update().get(pk=crowd[-1].pk)
        (moved,) = at_once([fair_queueing.reorder])

    assert moved == 2 * fair_queueing.FRONT - 1
    behind = OpenMessage.objects.filter(priority=2).values_list("message_id", flat=True)
    assert set(behind) == {message.pk for message in crowd[fair_queueing.FRONT : -1]}


@pytest.mark.django_db(transaction=True)
def test_undeliverable_backlog_is_skipped_in_queue(company: Company) -> None:
    """Its messages are not looked at, one by one, each time that somebody sends a code."""
    backlog(company)
    create_account("whatsapp_cloud", is_enabled=False)
    late = due(channel="sms")

    with reads() as statements:
        assert claimed_ids(fair_queueing.FRONT) == [late.pk]

    claim = statements[-1]
    with transaction.atomic():
        plan = explain(claim)
    queue = [node for node in nodes(plan) if node.get("Relation Name") == "channels_openmessage"]
    assert [node["Actual Rows"] for node in queue] == [0]


AGO = timedelta(minutes=1)


@pytest.mark.parametrize("has_attempt", [False, True])
@pytest.mark.parametrize(
    ("step", "times", "changed"),
    [
        (sweeps.fall_back, {"fallback_at": AGO}, {"channel": "sms"}),
        (sweeps.give_up, {"useful_until": AGO, "deadline": AGO}, {"state": "expired"}),
    ],
)
def test_overdue_messages_of_one_company_leave_room_for_others(
    company: Company,
    monkeypatch: pytest.MonkeyPatch,
    step: Callable[[], int],
    times: dict[str, timedelta],
    changed: dict[str, str],
    *,
    has_attempt: bool,
) -> None:
    monkeypatch.setattr(sweeps, "BATCH_SIZE", 3)
    overdue = partial(_overdue, times, has_attempt=has_attempt)
    for _ in range(4):
        overdue(ago=2, company=company)
    late = overdue(ago=1)

    step()

    done = Message.objects.filter(**changed)
    assert done.count() == 3
    assert late in done


def _overdue(times: dict[str, timedelta], *, ago: int, has_attempt: bool, **fields: Any) -> Message:
    moments = {name: timezone.now() - ago * time for name, time in times.items()}
    chain = [{"channel": "sms", "price": 0, "patience": 60}]
    message = MessageFactory.create(price=0, state="sent", chain=chain, **moments, **fields)
    if has_attempt:
        AttemptFactory.create(message=message)
    return message
