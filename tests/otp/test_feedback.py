"""A custom code, checked here or reported as entered."""

from functools import partial
from typing import Any

import pytest

from billing.wallet import ledger
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from otp.check import settlement
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.channels.fallback_stages import transfers
from tests.channels.message_stages import PHONE, apply_event, claim
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, forget_limits

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("balanced_books"),
]
CODE = "4821"
LETTERS = "aB3xYz"


def send(api: Api, code: object = CODE, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": PHONE, "code": code} | fields)


@pytest.mark.parametrize("code", [CODE, LETTERS, "A1B2C3D4E5"])
def test_custom_code_can_be_checked_here(api: Api, code: str) -> None:
    verification = send(api, code).body["verification"]
    wrong = code[:-1] + ("1" if code[-1] != "1" else "2")

    guessed = api.post("/otp/verify", {"phone": PHONE, "code": wrong})

    assert (guessed.code, guessed.body["attempts_left"]) == ("code_invalid", 4)
    assert api.post("/otp/verify", {"id": verification, "code": code}).status == 200
    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).code == "code_used"


@pytest.mark.parametrize("code", ["abcd", "123456789", "12ab56"])
def test_letters_spend_no_attempt_of_a_code_of_ours(api: Api, code: str) -> None:
    api.post("/otp/send", {"phone": PHONE})

    response = api.post("/otp/verify", {"phone": PHONE, "code": code})

    assert response.code == "invalid_input"
    assert Verification.objects.get().attempts == 0


@pytest.mark.parametrize("by", ["message", "verification", "code"])
def test_report_proves_the_delivery_once(api: Api, by: str) -> None:
    sent = send(api).body
    claim()
    apply_event(Attempt.objects.get(), EventKind.ACCEPTED, provider_id="vendor-1")
    report = {
        "message": {"id": sent["id"]},
        "verification": {"id": sent["verification"]},
        "code": {"phone": PHONE, "code": CODE},
    }[by]

    first, second = (api.post("/otp/feedback", report) for _ in range(2))
    settlement.settle_verified()

    assert (first.status, second.status) == (200, 200)
    assert first.body["verified_at"] == second.body["verified_at"]
    assert first.body["id"] == sent["verification"]
    message = Message.objects.get()
    assert message.state == "delivered"
    assert transfers(message) == [("hold", 1, ""), ("capture", 1, "code_entered")]
    assert Verification.objects.get().attempts == 1


def test_reports_at_once_charge_once(api: Api) -> None:
    sent = send(api).body
    claim()
    apply_event(Attempt.objects.get(), EventKind.ACCEPTED, provider_id="vendor-1")

    reports = [{"id": sent["id"]}, {"phone": PHONE, "code": CODE}] * 5
    responses = at_once([partial(api.post, "/otp/feedback", report) for report in reports])
    settlement.settle_verified()

    assert {response.status for response in responses} == {200}
    assert len({response.body["verified_at"] for response in responses}) == 1
    assert ledger.balance(api.company.pk) == (999, 0)


def test_wrong_report_spends_an_attempt_and_is_capped(api: Api) -> None:
    send(api)

    responses = [api.post("/otp/feedback", {"phone": PHONE, "code": "0000"}) for _ in range(6)]

    assert [response.code for response in responses] == [*["code_invalid"] * 5, "too_many_attempts"]
    assert api.post("/otp/feedback", {"phone": PHONE, "code": CODE}).code == "too_many_attempts"


def test_code_of_ours_is_not_reported(api: Api) -> None:
    sent = api.post("/otp/send", {"phone": PHONE}).body
    reports = [
        {"id": sent["id"]},
        {"id": sent["verification"]},
        {"phone": PHONE, "code": "0000"},
    ]

    responses = [api.post("/otp/feedback", report) for report in reports]

    assert [response.code for response in responses] == ["invalid_input"] * 3
    assert Verification.objects.get().attempts == 0
    assert "/otp/verify" in str(responses[0].body["errors"])


def test_report_of_others_is_not_found(api: Api, test_api: Api, client_of: ClientOf) -> None:
    sent = send(api).body
    stranger = client_of(CompanyFactory.create())
    asked = [
        (client, {"id": sent[name]})
        for client in (stranger, test_api)
        for name in ("id", "verification")
    ]

    codes = [client.post("/otp/feedback", report).code for client, report in asked]

    assert codes == ["not_found"] * 4
    assert stranger.post("/otp/feedback", {"phone": PHONE, "code": CODE}).code == "code_not_found"


@pytest.mark.parametrize(
    ("report", "field"),
    [
        ({}, "phone"),
        ({"phone": PHONE}, "code"),
        ({"id": "msg_1"}, "id"),
        ({"id": ["msg_1"]}, "id"),
        ({"phone": PHONE, "code": "ab"}, "code"),
    ],
)
def test_report_names_the_field_at_fault(api: Api, report: dict[str, object], field: str) -> None:
    response = api.post("/otp/feedback", report)

    assert (response.code, [*response.body["errors"]]) == ("invalid_input", [field])


@pytest.mark.parametrize("by", ["id", "verification"])
def test_history_is_not_changed_by_a_report(api: Api, by: str) -> None:
    """A month with a code that is not settled cannot be archived."""
    sent = delivered(api)
    age_rows(days=1, seconds=1)

    response = api.post("/otp/feedback", {"id": sent[by]})

    assert response.code == "code_expired"
    assert Verification.objects.get().verified_at is None


def test_report_is_repeated_as_long_as_the_code_is_kept(api: Api) -> None:
    sent = delivered(api)
    first = api.post("/otp/feedback", {"id": sent["id"]})
    age_rows(days=2)

    assert first.status == api.post("/otp/feedback", {"id": sent["id"]}).status == 200


def delivered(api: Api) -> Any:
    sent = send(api).body
    claim()
    attempt = Attempt.objects.get()
    apply_event(attempt, EventKind.ACCEPTED, provider_id="vendor-1")
    apply_event(attempt, EventKind.DELIVERED)
    return sent


def test_late_report_of_a_superseded_code_is_accepted(api: Api) -> None:
    """The other system let it pass, and the person had it."""
    sent = send(api).body
    claim()
    apply_event(Attempt.objects.get(), EventKind.ACCEPTED, provider_id="vendor-1")
    forget_limits()
    send(api, "9999")
    settlement.settle_verified()

    assert api.post("/otp/feedback", {"id": sent["id"]}).status == 200
    settlement.settle_verified()
    assert Message.objects.earliest("id").state == "delivered"
