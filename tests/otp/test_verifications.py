"""A verification by its id: verified, found, listed, cancelled."""

from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from accounts.keys.api_keys import without_key
from billing.wallet import ledger
from catalogue.errors import DomainError, Error
from channels import reconciliation
from channels.deliver import sweeps
from channels.models import Message
from links.models import Link
from otp import verifications
from otp.check.check import check_code
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.channels.fallback_stages import (
    MOVED,
    enable_fallback,
    fallback_events,
    fallen_back,
    transfers,
)
from tests.channels.message_stages import accepted, claim
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, wrong_code
from tests.otp.verifying import PHONE, sent, verify

pytestmark = pytest.mark.django_db(transaction=True)
OTHER = "+79161234568"


def cancel(api: Api, public_id: str) -> ApiResponse:
    return api.call("DELETE", f"/otp/{public_id}")


def states(api: Api, **query: str) -> list[str]:
    return [row["state"] for row in api.get("/otp", query).body["data"]]


def test_code_is_verified_by_its_id(api: Api) -> None:
    public_id = sent(api, purpose="login")

    response = verify(api, public_id, code_of(PHONE, "login"))

    assert response.status == 200, response.body
    assert (response.body["id"], response.body["phone"]) == (public_id, PHONE)
    assert verify(api, public_id, code_of(PHONE, "login")).code == "code_used"


def test_wrong_code_by_id_spends_an_attempt(api: Api) -> None:
    public_id = sent(api)

    response = verify(api, public_id, wrong_code(PHONE))

    assert (response.code, response.body["attempts_left"]) == ("code_invalid", 4)
    assert api.get(f"/otp/{public_id}").body["attempts_left"] == 4


def test_id_checks_only_its_own_code(api: Api) -> None:
    first = sent(api)
    old = code_of(PHONE)
    age_rows(seconds=250)
    second = sent(api)
    new = code_of(PHONE)

    assert verify(api, first, old).code == verify(api, first, new).code == "code_expired"
    assert Verification.objects.get(superseded_at=None).attempts == 0
    assert states(api) == ["pending", "superseded"]
    assert verify(api, second, new).status == 200


def test_id_of_another_purpose_takes_no_code_of_the_phone(api: Api) -> None:
    login = sent(api, purpose="login")
    _payment = sent(api, purpose="payment")

    assert verify(api, login, code_of(PHONE, "payment")).code == "code_invalid"
    assert verify(api, login, code_of(PHONE, "login")).status == 200


def test_id_of_another_company_or_mode_is_not_found(
    api: Api, test_api: Api, client_of: ClientOf
) -> None:
    public_id = sent(api)
    stranger = client_of(CompanyFactory.create())

    for other in (stranger, test_api):
        assert verify(other, public_id, code_of(PHONE)).code == "code_not_found"
        assert states(other) == []
    assert verify(api, public_id, code_of(PHONE)).status == 200


@pytest.mark.parametrize("public_id", ["otp_" + "0" * 32, "otp_" + "f" * 32])
def test_id_of_no_object_is_not_found(api: Api, public_id: str) -> None:
    assert verify(api, public_id, "123456").code == "code_not_found"


@pytest.mark.parametrize(
    ("fields", "faulty"),
    [
        ({}, ["phone"]),
        ({"id": None}, ["phone"]),
        ({"id": "msg_" + "0" * 32}, ["id"]),
        ({"id": 1}, ["id"]),
        ({"phone": 1}, ["phone"]),
    ],
)
def test_phone_or_id_must_be_given(api: Api, fields: dict[str, Any], faulty: list[str]) -> None:
    response = api.post("/otp/verify", {"code": "123456"} | fields)

    assert (response.code, list(response.body["errors"])) == ("invalid_input", faulty)


def test_phone_and_purpose_must_match_id(api: Api) -> None:
    public_id = sent(api, purpose="login")
    code = code_of(PHONE, "login")

    response = verify(api, public_id, code, phone=OTHER, purpose="payment")

    assert (response.code, list(response.body["errors"])) == ("invalid_input", ["phone", "purpose"])
    assert Verification.objects.get().attempts == 0
    assert verify(api, public_id, code, phone="8 916 123-45-67", purpose="login").status == 200


def test_verification_shows_its_messages_and_no_code(api: Api) -> None:
    public_id = sent(api, channel="sms")
    sent(api, channel="whatsapp")
    row = Verification.objects.get()

    response = api.get(f"/otp/{public_id}")

    assert code_of(PHONE) not in response.raw.decode().replace(row.id.hex, "")
    assert [message["channel"] for message in response.body["messages"]] == ["sms", "whatsapp"]
    assert {name: response.body[name] for name in ("state", "phone", "purpose", "test")} == {
        "state": "pending",
        "phone": PHONE,
        "purpose": "verification",
        "test": False,
    }


def test_states_are_shown_and_searched_alike(api: Api) -> None:
    phones = [f"+7916000000{n}" for n in range(6)]
    ids = [sent(api, phone) for phone in phones]
    verify(api, ids[0], code_of(phones[0]))
    cancel(api, ids[1])
    for _ in range(5):
        verify(api, ids[2], wrong_code(phones[2]))
    old = Verification.objects.filter(phone__in=phones[3:5])
    old.update(expires_at=timezone.now() - timedelta(seconds=1))
    old.filter(phone=phones[4]).update(superseded_at=timezone.now() - timedelta(seconds=9))

    expected = ["verified", "cancelled", "exhausted", "expired", "superseded", "pending"]
    assert [api.get(f"/otp/{id_}").body["state"] for id_ in ids] == expected
    assert states(api) == expected[::-1]
    for state, public_id in zip(expected, ids, strict=True):
        result = api.get("/otp", {"state": state}).body["data"]
        assert [row["id"] for row in result] == [public_id]


def test_list_has_each_verification_once_and_goes_on(api: Api) -> None:
    ids = [sent(api, phone, purpose="login") for phone in (PHONE, OTHER)]
    sent(api, PHONE, purpose="login")
    sent(api, PHONE, purpose="payment")

    first = api.get("/otp", {"purpose": "login", "limit": "1"}).body
    second = api.get("/otp", {"purpose": "login", "limit": "1", "cursor": first["next_cursor"]})

    assert [row["id"] for row in (*first["data"], *second.body["data"])] == ids[::-1]
    assert len(second.body["data"][0]["messages"]) == 2
    assert len(api.get("/otp", {"phone": "8 916 123-45-67"}).body["data"]) == 2


def test_cancelled_code_is_refused_and_its_tokens_return(api: Api) -> None:
    public_id = sent(api, link="https://example.com/", link_until="code")
    code = code_of(PHONE)

    response = cancel(api, public_id)

    assert (response.status, response.body["state"], response.body["attempts_left"]) == (
        200,
        "cancelled",
        0,
    )
    assert verify(api, public_id, code).code == "code_expired"
    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).code == "code_not_found"
    assert ledger.balance(api.company.pk) == (1000, 0)
    assert Link.objects.get().disabled_at is not None
    assert (Message.objects.get().state, claim()) == ("expired", [])
    assert cancel(api, public_id).body["state"] == "cancelled"
    assert list(reconciliation.breaches()) == []


def test_cancelled_accepted_message_is_charged_only_by_receipt(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    attempt = accepted(api)
    cancel(api, Verification.objects.get().public_id)
    age_rows(seconds=31)

    sweeps.sweep()

    assert (attempt.message.chain, fallback_events(attempt.message)) != ([], [])
    assert fallback_events(attempt.message) == [("cancelled", "sms")]
    assert transfers(attempt.message) == [("hold", 1, "")]
    assert claim() == []


def test_cancel_stops_a_step_that_is_still_to_be_sent(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    attempt = fallen_back(api)

    cancel(api, Verification.objects.get().public_id)

    assert transfers(attempt.message) == [*MOVED, ("release", 16, "cancelled")]
    assert claim() == []
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_superseded_code_is_sent_by_no_further_channel(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")
    attempt = fallen_back(api)
    Verification.objects.update(attempts=5)
    sent(api)

    sweeps.sweep()

    attempt.message.refresh_from_db()
    assert (attempt.message.state, len(claim())) == ("expired", 1)


def test_verified_code_cannot_be_cancelled(api: Api) -> None:
    public_id = sent(api)
    verify(api, public_id, code_of(PHONE))

    response = cancel(api, public_id)

    assert (response.status, response.code) == (422, "code_used")
    assert api.get(f"/otp/{public_id}").body["state"] == "verified"


def test_new_code_after_a_cancelled_one_is_another(api: Api) -> None:
    first = sent(api)
    cancel(api, first)

    second = sent(api)

    assert first != second
    assert verify(api, second, code_of(PHONE)).status == 200


def test_cancellation_keeps_a_code_without_attempts(api: Api) -> None:
    public_id = sent(api)
    Verification.objects.update(attempts=5)

    assert cancel(api, public_id).body["state"] == "exhausted"
    assert verify(api, public_id, "1234").code == "too_many_attempts"


def test_cancellation_keeps_an_expired_verification(api: Api) -> None:
    public_id = sent(api)
    age_rows(seconds=301)

    assert cancel(api, public_id).body["state"] == "expired"


def test_test_numbers_are_verified_by_id(test_api: Api) -> None:
    public_id = sent(test_api, "+79990000000")
    code = code_of("+79990000000", mode="test")

    assert test_api.get(f"/otp/{public_id}").body["test"] is True
    assert verify(test_api, public_id, code).status == 200


def test_key_of_one_purpose_knows_no_verification_of_another(api: Api) -> None:
    public_id = sent(api)
    row = Verification.objects.get()
    principal = replace(without_key(row.company, row.mode), purpose="payment")
    calls: list[Callable[[], object]] = [
        partial(verifications.find, principal, row.id),
        partial(verifications.cancel, principal, row.id),
        partial(check_code, principal=principal, verification_id=row.id, code=code_of(PHONE)),
    ]

    for call in calls:
        with pytest.raises(DomainError) as refusal:
            call()
        assert refusal.value.error in {Error.NOT_FOUND, Error.CODE_NOT_FOUND}
    assert verify(api, public_id, code_of(PHONE)).status == 200
