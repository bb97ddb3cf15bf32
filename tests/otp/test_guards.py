"""Each guard of a verification tested alone, where no other guard hides its absence."""

from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import IntegrityError, connection, transaction

from billing.wallet import ledger
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Message
from channels.outcomes import transitions
from otp.check import settlement
from otp.models import Verification
from tests.api.blocking import start_blocked
from tests.api.clients import Api
from tests.channels.message_stages import accepted
from tests.factories import VerificationFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, verification_of

PHONE = "+79161234567"


def send(api: Api) -> str:
    """Sends a code; returns the one on the phone."""
    assert api.post("/otp/send", {"phone": PHONE}).status == 200
    return code_of(PHONE)


def is_taken(api: Api, code: str) -> bool:
    return api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


def test_used_code_is_refused(api: Api) -> None:
    code = send(api)
    assert is_taken(api, code)

    assert not is_taken(api, code)


def test_expired_code_is_refused(api: Api) -> None:
    code = send(api)
    age_rows(seconds=301)

    assert not is_taken(api, code)


def test_superseded_code_is_refused(api: Api) -> None:
    old = send(api)
    age_rows(seconds=250)
    new = send(api)

    assert not is_taken(api, old)
    assert is_taken(api, new)


def test_id_accepts_only_its_own_code(api: Api) -> None:
    first = api.post("/otp/send", {"phone": PHONE}).body["verification"]
    age_rows(seconds=250)
    new = send(api)

    assert api.post("/otp/verify", {"id": first, "code": new}).status == 422
    assert verification_of(PHONE).attempts == 0


def test_cancelled_code_is_refused(api: Api) -> None:
    code = send(api)
    assert api.call("DELETE", f"/otp/{verification_of(PHONE).public_id}").status == 200

    assert not is_taken(api, code)


def test_bound_code_fails_without_its_binding(api: Api) -> None:
    code = send(api)
    Verification.objects.update(binding={"amount": "100.50", "payee": "Shop"})

    assert not is_taken(api, code)
    assert verification_of(PHONE).attempts == 0


def test_row_takes_no_attempt_beyond_its_last(api: Api) -> None:
    send(api)

    with pytest.raises(IntegrityError), transaction.atomic():
        Verification.objects.update(attempts=6)

    assert verification_of(PHONE).attempts == 0


@pytest.mark.django_db(transaction=True)
def test_send_that_comes_second_repeats_the_code_of_the_first(api: Api) -> None:
    """Neither sees the other's code before it is committed: only the index does."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            first = VerificationFactory.create(company=api.company, phone=PHONE)
            late = start_blocked(pool, lambda: api.post("/otp/send", {"phone": PHONE}))
        response = late.result()

    assert response.status == 200
    assert Verification.objects.count() == 1
    assert Message.objects.get().subject_id == first.id
    assert ledger.balance(api.company.pk) == (999, 1)


@pytest.mark.django_db(transaction=True)
def test_code_used_during_a_resend_is_replaced(api: Api) -> None:
    code = send(api)
    forget_limits()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            assert is_taken(api, code)
            late = start_blocked(pool, partial(send, api))
        new = late.result()

    assert Verification.objects.count() == 2
    assert is_taken(api, new)


@pytest.mark.django_db(transaction=True)
def test_receipt_and_correct_code_at_once_charge_one_delivery(api: Api) -> None:
    dear = accepted(api, channel="sms")
    forget_limits()
    accepted(api, channel="whatsapp")
    assert is_taken(api, code_of(PHONE))

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic(), connection.cursor() as cursor:
            transitions.apply_in_transaction(
                cursor, [Event(dear.message_id, dear.id, EventKind.DELIVERED)]
            )
            late = start_blocked(pool, settlement.settle_verified)
        late.result()

    assert ledger.balance(api.company.pk) == (1000 - 17, 1)
