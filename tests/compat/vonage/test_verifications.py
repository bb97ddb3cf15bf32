"""Vonage Verify v2: start, check, cancel, next step."""

from typing import Any
from uuid import UUID

import pytest

from accounts.models import Company, Mode
from billing.models import Wallet
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, BlockedPhone, Message
from otp.models import Verification
from tests.channels.message_stages import apply_event, claim
from tests.compat.clients import DialectClient
from tests.compat.vonage.calls import (
    PHONE,
    SMS,
    TO,
    WHATSAPP,
    check,
    check_code,
    client_of,
    faults,
    start,
    started,
)
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, wrong_code

pytestmark = pytest.mark.django_db


def test_code_is_sent_and_checked_once(client: DialectClient) -> None:
    request_id = started(client)

    response = check_code(client, request_id, code_of(PHONE, "login", "test"))
    again = check_code(client, request_id, "1234")

    assert (response.status, response.body) == (
        200,
        {"request_id": request_id, "status": "completed"},
    )
    assert Verification.objects.get().pk == UUID(request_id)
    check(again, 404, "Not Found", "not-found")
    assert again.body["detail"] == (
        f"Request '{request_id}' was not found or it has been verified already."
    )


def test_workflow_is_the_order_of_channels(live: DialectClient) -> None:
    started(live, WHATSAPP, SMS, client_ref="order-7", channel_timeout=60)

    message = Message.objects.get()
    assert [message.channel, *(step["channel"] for step in message.chain)] == ["whatsapp", "sms"]
    assert (message.reference, message.params["door"]) == ("order-7", "vonage")


def test_unsupported_steps_are_skipped(live: DialectClient) -> None:
    silent = {"channel": "silent_auth", "to": TO}
    voice = {"channel": "voice", "to": TO}
    mail = {"channel": "email", "to": "a@shop.example"}

    started(live, silent, mail, SMS, voice)

    assert (Message.objects.get().channel, Message.objects.get().chain) == ("sms", [])


@pytest.mark.parametrize(
    "channel", ["voice", "email", "silent_auth", "whatsapp_interactive", "rcs"]
)
def test_workflow_without_a_channel_of_ours_is_refused(client: DialectClient, channel: str) -> None:
    assert faults(start(client, {"channel": channel, "to": TO})) == {"workflow[0].channel"}


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        ({}, {"brand", "workflow"}),
        ({"brand": ""}, {"brand"}),
        ({"brand": "x" * 19}, {"brand"}),
        ({"brand": 5}, {"brand"}),
        ({"workflow": None}, {"workflow"}),
        ({"workflow": []}, {"workflow"}),
        ({"workflow": {}}, {"workflow"}),
        ({"workflow": [SMS] * 11}, {"workflow"}),
        ({"workflow": ["sms"]}, {"workflow[0]"}),
        ({"workflow": [{}]}, {"workflow[0].channel"}),
        ({"workflow": [{"channel": "carrier_pigeon", "to": TO}]}, {"workflow[0].channel"}),
        ({"workflow": [{"channel": ["sms"], "to": TO}]}, {"workflow[0].channel"}),
        ({"workflow": [{"channel": "sms"}]}, {"workflow[0].to"}),
        ({"workflow": [{"channel": "sms", "to": 79161234567}]}, {"workflow[0].to"}),
        ({"workflow": [{"channel": "sms", "to": "x" * 51}]}, {"workflow[0].to"}),
        ({"workflow": [{"channel": "sms", "to": ""}]}, {"workflow[0].to"}),
        ({"workflow": [{"channel": "sms", "to": "123"}]}, {"workflow[0].to"}),
        ({"workflow": [{"channel": "sms", "to": "abc"}]}, {"workflow[0].to"}),
        ({"workflow": [SMS, {"channel": "x", "to": TO}]}, {"workflow[1].channel"}),
        ({"workflow": [SMS, WHATSAPP | {"to": "79161234568"}]}, {"workflow[1].to"}),
        ({"workflow": [SMS, {"channel": "silent_auth", "to": TO}]}, {"workflow[1].channel"}),
        ({"channel_timeout": 14}, {"channel_timeout"}),
        ({"channel_timeout": 901}, {"channel_timeout"}),
        ({"channel_timeout": "60"}, {"channel_timeout"}),
        ({"channel_timeout": True}, {"channel_timeout"}),
        ({"code_length": 3}, {"code_length"}),
        ({"code_length": 9}, {"code_length"}),
        ({"code_length": 11}, {"code_length"}),
        ({"code": "123"}, {"code"}),
        ({"code": "12345678901"}, {"code"}),
        ({"code": "12 34"}, {"code"}),
        ({"code": 1234}, {"code"}),
        ({"client_ref": "x" * 41}, {"client_ref"}),
        ({"locale": "not a locale"}, {"locale"}),
        ({"fraud_check": "no"}, {"fraud_check"}),
        ({"template_id": "ce1b1f8b-0b9e-4f3b-9b2b-6b1d7e0c0c7f"}, {"template_id"}),
        ({"brand": "\x00", "code_length": 0}, {"brand", "code_length"}),
    ],
    ids=lambda value: str(value) if isinstance(value, dict) else "",  # sets have no order
)
def test_wrong_parameters_are_named(
    client: DialectClient, body: dict[str, Any], expected: set[str]
) -> None:
    whole = {"brand": "ACME", "workflow": [SMS]} | body if body else {}

    assert faults(client.json("/v2/verify", whole)) == expected
    assert not Message.objects.exists()


@pytest.mark.parametrize("body", [b"", b"[]", b"{", b"null", b"\xff"])
def test_missing_body_is_refused(client: DialectClient, body: bytes) -> None:
    assert faults(client.call("POST", "/v2/verify", body))


@pytest.mark.parametrize(
    "more",
    [
        {"channel_timeout": 15},
        {"channel_timeout": 900},
        {"code_length": 4},
        {"code_length": 8},
        {"locale": "en-us"},
        {"locale": "hi-in"},
        {"locale": "pt_BR"},
        {"fraud_check": True},
        {"client_ref": "x" * 40},
        {"unknown": {"x": 1}},
        {"code": "1234"},
        {"code": "aB3dE6gH1j"},
    ],
    ids=str,
)
def test_valid_parameters_are_accepted(client: DialectClient, more: dict[str, Any]) -> None:
    started(client, **more)


def test_custom_code_is_checked(client: DialectClient) -> None:
    request_id = started(client, code="aB3dE6gH")

    assert check_code(client, request_id, "AB3dE6gH").status == 400
    assert check_code(client, request_id, "aB3dE6gH").status == 200


def test_code_has_the_requested_length(client: DialectClient) -> None:
    started(client, code_length=4)

    assert Verification.objects.get().length == 4


def test_fraud_check_is_not_switched_off(client: DialectClient) -> None:
    response = start(client, fraud_check=False)

    check(response, 403, "Forbidden", "forbidden")
    assert response.body["detail"].startswith("fraud_check")


def test_running_verification_is_named(client: DialectClient, live: DialectClient) -> None:
    for each in (client, live):
        request_id = started(each)

        response = start(each)

        check(response, 409, "Conflict", "conflict")
        assert response.body["request_id"] == request_id
        assert response.body["detail"] == (
            "Concurrent verifications to the same number are not allowed"
        )


def test_cancelled_verification_is_over(client: DialectClient) -> None:
    request_id = started(client)
    code = code_of(PHONE, "login", "test")

    response = client.call("DELETE", f"/v2/verify/{request_id}")

    assert (response.status, response.raw) == (204, b"")
    check(check_code(client, request_id, code), 404, "Not Found", "not-found")
    check(client.call("DELETE", f"/v2/verify/{request_id}"), 404, "Not Found", "not-found")
    assert started(client) != request_id


def test_verified_request_is_not_cancelled(client: DialectClient) -> None:
    request_id = started(client)
    check_code(client, request_id, code_of(PHONE, "login", "test"))

    check(client.call("DELETE", f"/v2/verify/{request_id}"), 404, "Not Found", "not-found")


def test_start_during_the_cool_down_after_a_cancel_is_limited(live: DialectClient) -> None:
    request_id = started(live)
    live.call("DELETE", f"/v2/verify/{request_id}")

    response = start(live)

    check(response, 429, "Rate Limit Hit", "throttled")
    assert int(response.headers["Retry-After"]) > 0


def test_wrong_codes_end_the_workflow(client: DialectClient) -> None:
    request_id = started(client)
    right = code_of(PHONE, "login", "test")
    wrong = wrong_code(PHONE, "login", "test")

    responses = [check_code(client, request_id, wrong) for _ in range(5)]
    responses.append(check_code(client, request_id, right))

    for response in responses[:4]:
        check(response, 400, "Invalid Code", "bad-request")
        assert response.body["detail"] == "The code you provided does not match the expected value."
    for response in responses[4:]:
        check(response, 410, "Invalid Code", "gone")
        assert "too many times" in response.body["detail"]


def test_code_past_its_lifetime_is_not_found(client: DialectClient) -> None:
    request_id = started(client)
    code = code_of(PHONE, "login", "test")
    age_rows(minutes=20)

    check(check_code(client, request_id, code), 404, "Not Found", "not-found")


@pytest.mark.parametrize("code", [None, "", "123", "12345678901", 1234, "12!4", "12\x0034", []])
def test_code_of_another_form_is_a_wrong_parameter(client: DialectClient, code: Any) -> None:
    assert faults(check_code(client, started(client), code)) == {"code"}


@pytest.mark.parametrize(
    "request_id", ["x", "36e7060d-2b23-4257-bad0-773ab47f85ef", "é", "0" * 200]
)
def test_unknown_request_is_not_found(client: DialectClient, request_id: str) -> None:
    path = f"/v2/verify/{request_id}"

    check(check_code(client, request_id, "1234"), 404, "Not Found", "not-found")
    check(client.call("DELETE", path), 404, "Not Found", "not-found")
    check(client.call("POST", f"{path}/next_workflow"), 404, "Not Found", "not-found")


def test_requests_of_others_are_not_found(client: DialectClient, company: Company) -> None:
    request_id = started(client)
    code = code_of(PHONE, "login", "test")
    stranger = client_of(CompanyFactory.create(status=Company.Status.APPROVED))

    for each in (stranger, client_of(company, Mode.LIVE)):
        path = f"/v2/verify/{request_id}"
        check(check_code(each, request_id, code), 404, "Not Found", "not-found")
        check(each.call("DELETE", path), 404, "Not Found", "not-found")
        check(each.call("POST", f"{path}/next_workflow"), 404, "Not Found", "not-found")
    assert check_code(client, request_id, code).status == 200


def test_next_workflow_takes_the_next_step(live: DialectClient) -> None:
    request_id = started(live, SMS, WHATSAPP)

    response = live.call("POST", f"/v2/verify/{request_id}/next_workflow")
    last = live.call("POST", f"/v2/verify/{request_id}/next_workflow")

    assert (response.status, response.raw) == (200, b"")
    check(last, 409, "Conflict", "conflict")
    assert last.body["detail"] == "There are no more events left to trigger."
    assert check_code(live, request_id, code_of(PHONE, "login")).status == 200


@pytest.mark.parametrize("custom", [{}, {"code": "482917"}], ids=["ours", "custom"])
@pytest.mark.parametrize("seconds", [0, 61, 250], ids=["at once", "after the pause", "late"])
def test_next_workflow_after_delivery_creates_no_code(
    live: DialectClient, custom: dict[str, str], seconds: int
) -> None:
    """Sends nothing without the custom code, which is not stored, or the time to enter it."""
    request_id = started(live, SMS, WHATSAPP, **custom)
    claim()
    for kind in (EventKind.ACCEPTED, EventKind.DELIVERED):
        apply_event(Attempt.objects.get(), kind)
    age_rows(seconds=seconds)
    code = custom.get("code") or code_of(PHONE, "login")

    response = live.call("POST", f"/v2/verify/{request_id}/next_workflow")

    is_late = seconds == 250
    assert response.status == (409 if custom else 404 if is_late else 200)
    assert Message.objects.count() == (1 if custom or is_late else 2)
    assert Verification.objects.count() == 1
    assert check_code(live, request_id, code).status == 200


def test_single_step_workflow_has_no_next(client: DialectClient) -> None:
    request_id = started(client)

    response = client.call("POST", f"/v2/verify/{request_id}/next_workflow")

    check(response, 409, "Conflict", "conflict")


def test_next_workflow_of_an_ended_request_is_not_found(client: DialectClient) -> None:
    request_id = started(client, SMS, WHATSAPP)
    check_code(client, request_id, code_of(PHONE, "login", "test"))

    response = client.call("POST", f"/v2/verify/{request_id}/next_workflow")

    check(response, 404, "Not Found", "not-found")


def test_low_balance_is_answered_402(live: DialectClient, company: Company) -> None:
    Wallet.objects.filter(company=company).update(available=3)

    check(start(live), 402, "Low balance", "low-balance")


def test_numbers_that_get_nothing_are_wrong_parameters(live: DialectClient) -> None:
    landline = SMS | {"to": "74951234567"}
    abroad = SMS | {"to": "77011234567"}
    BlockedPhone.objects.create(phone=PHONE, said_stop=True)

    for step in (landline, abroad, SMS):
        assert faults(start(live, step)) == {"workflow[0].to"}


@pytest.mark.parametrize(
    ("script", "status", "anchor"),
    [
        ("0001", 422, "invalid-params"),
        ("0002", 402, "low-balance"),
        ("0005", 429, "throttled"),
        ("0011", 429, "throttled"),
        ("0012", 429, "throttled"),
        ("0013", 422, "invalid-params"),
        ("0014", 422, "invalid-params"),
        ("0015", 403, "forbidden"),
        ("0016", 403, "forbidden"),
    ],
)
def test_scripted_number_is_refused_in_vonages_format(
    client: DialectClient, script: str, status: int, anchor: str
) -> None:
    response = start(client, SMS | {"to": f"7916123{script}"})

    assert response.status == status
    assert response.body["type"].endswith(f"#{anchor}")
