"""Infobip 2FA as its clients see it: ids, statuses of PINs, refusals."""

from typing import Any
from uuid import UUID

import orjson
import pytest
from django.conf import settings

from accounts.models import Company, Mode
from channels.models import Message
from compat.infobip.dialect import DIALECT
from otp.models import Verification
from tests.api.clients import ApiResponse
from tests.compat.clients import DialectClient, client_key
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, wrong_code

pytestmark = pytest.mark.usefixtures("queued_at_once")
TO = "79161234567"
PHONE = "+79161234567"
PURPOSE = "login"
ODD: list[Any] = [None, 1, True, "", [], {}, {"to": 1}, "x" * 5000, "\u0000", -1, 1e300]


@pytest.fixture
def client(company: Company) -> DialectClient:
    return client_of(company)


def client_of(company: Company, **fields: Any) -> DialectClient:
    return DialectClient(DIALECT, client_key(company, PURPOSE, mode=Mode.LIVE, **fields).plaintext)


def application_of(client: DialectClient) -> str:
    (application,) = orjson.loads(client.get("/2fa/2/applications").raw)
    return str(application["applicationId"])


def message_of(client: DialectClient, length: int = 6) -> str:
    messages: Any = client.get(f"/2fa/2/applications/{application_of(client)}/messages").body
    return next(str(each["messageId"]) for each in messages if each["pinLength"] == length)


def send(client: DialectClient, to: str = TO, **fields: Any) -> ApiResponse:
    ids = {"applicationId": application_of(client), "messageId": message_of(client)}
    return client.json("/2fa/2/pin", ids | {"to": to} | fields)


def verify(client: DialectClient, pin_id: str, pin: str) -> ApiResponse:
    return client.json(f"/2fa/2/pin/{pin_id}/verify", {"pin": pin})


def refusal(response: ApiResponse) -> tuple[int, str]:
    return response.status, response.body["requestError"]["serviceException"]["messageId"]


def test_pin_is_sent_and_verified_by_its_id(client: DialectClient) -> None:
    sent = send(client)
    verification = Verification.objects.get()

    assert (sent.status, sent.body) == (
        200,
        {
            "pinId": verification.pk.hex.upper(),
            "to": TO,
            "ncStatus": "NC_DESTINATION_UNKNOWN",
            "smsStatus": "MESSAGE_SENT",
        },
    )
    assert (verification.phone, verification.purpose) == (PHONE, PURPOSE)
    assert Message.objects.get().params["door"] == "infobip"
    pin_id = sent.body["pinId"]
    assert verify(client, pin_id, wrong_code(PHONE, PURPOSE)).body == {
        "pinId": pin_id,
        "msisdn": TO,
        "verified": False,
        "attemptsRemaining": 4,
        "pinError": "WRONG_PIN",
    }
    assert verify(client, pin_id, code_of(PHONE, PURPOSE)).body == {
        "pinId": pin_id,
        "msisdn": TO,
        "verified": True,
        "attemptsRemaining": 0,
    }


def test_used_pin_has_no_attempts(client: DialectClient) -> None:
    pin_id = send(client).body["pinId"]
    code = code_of(PHONE, PURPOSE)
    verify(client, pin_id, code)

    again = verify(client, pin_id, code)

    assert (again.body["verified"], again.body["pinError"], again.body["attemptsRemaining"]) == (
        False,
        "NO_MORE_PIN_ATTEMPTS",
        0,
    )


def test_last_wrong_pin_leaves_no_attempts(client: DialectClient) -> None:
    pin_id = send(client).body["pinId"]
    wrong = wrong_code(PHONE, PURPOSE)

    errors = [verify(client, pin_id, wrong).body["pinError"] for _ in range(6)]

    assert errors == ["WRONG_PIN"] * 5 + ["NO_MORE_PIN_ATTEMPTS"]
    right = verify(client, pin_id, code_of(PHONE, PURPOSE)).body
    assert (right["verified"], right["pinError"]) == (False, "NO_MORE_PIN_ATTEMPTS")


def test_old_pin_is_expired(client: DialectClient) -> None:
    pin_id = send(client).body["pinId"]
    code = code_of(PHONE, PURPOSE)
    age_rows(seconds=settings.CODE_LIFETIME + 1)

    response = verify(client, pin_id, code)

    assert (response.status, response.body["pinError"]) == (200, "TTL_EXPIRED")
    assert refusal(client.json(f"/2fa/2/pin/{pin_id}/resend", {})) == (400, "BAD_REQUEST")


@pytest.mark.parametrize("body", [{}, None])
def test_resend_during_the_cool_down_sends_nothing(client: DialectClient, body: Any) -> None:
    first = send(client).body

    resent = (
        client.json(f"/2fa/2/pin/{first['pinId']}/resend", body)
        if body is not None
        else (client.call("POST", f"/2fa/2/pin/{first['pinId']}/resend"))
    )
    again = send(client)

    assert (resent.body, again.body) == (first, first)
    assert Message.objects.count() == 1


def test_resend_after_the_cool_down_sends_the_same_pin(client: DialectClient) -> None:
    first = send(client).body
    forget_limits()

    resent = client.json(f"/2fa/2/pin/{first['pinId']}/resend", {"trackDelivery": True}).body

    newest = Message.objects.latest("created_at")
    assert resent == first | {"externalMessageId": newest.public_id}
    assert (Message.objects.count(), Verification.objects.count()) == (2, 1)


def test_resend_with_little_time_left_names_the_pin_it_sent(client: DialectClient) -> None:
    first = send(client, messageId=message_of(client, 4)).body
    age_rows(seconds=settings.CODE_LIFETIME - settings.RESEND_MARGIN + 5)

    resent = client.json(f"/2fa/2/pin/{first['pinId']}/resend", {}).body

    assert resent["pinId"] != first["pinId"]
    assert len(code_of(PHONE, PURPOSE)) == 4  # the form has room for no other
    assert verify(client, resent["pinId"], code_of(PHONE, PURPOSE)).body["verified"]


@pytest.mark.parametrize("length", [4, 8])
def test_template_sends_pins_of_its_length(client: DialectClient, length: int) -> None:
    send(client, messageId=message_of(client, length))

    assert len(code_of(PHONE, PURPOSE)) == length


def test_tracked_pin_names_its_message(client: DialectClient) -> None:
    sent = send(client, trackDelivery=True, placeholders={"firstName": "A"}, **{"from": "Shop"})

    assert sent.body["externalMessageId"] == Message.objects.get().public_id


@pytest.mark.parametrize("to", ["+79161234567", "7 916 123-45-67"])
def test_number_is_international(client: DialectClient, to: str) -> None:
    assert send(client, to).body["to"] == TO


@pytest.mark.parametrize("to", ["9161234567", "4951234567", "0", "abc", "+", "1" * 30])
def test_national_number_is_refused(client: DialectClient, to: str) -> None:
    assert refusal(send(client, to)) == (400, "BAD_REQUEST")
    assert Message.objects.count() == 0


def test_creation_returns_the_existing_application_and_template(client: DialectClient) -> None:
    asked = {"name": "Shop", "enabled": True, "configuration": {"pinAttempts": 10}}
    template = {"messageText": "Your pin is {{pin}}", "pinType": "NUMERIC", "pinLength": 4}

    made = client.json("/2fa/2/applications", asked)
    path = f"/2fa/2/applications/{made.body['applicationId']}"
    message = client.json(f"{path}/messages", template)
    message_path = f"{path}/messages/{message.body['messageId']}"

    assert made.status == message.status == 200
    assert made.body["configuration"]["pinAttempts"] == settings.CODE_ATTEMPTS
    assert made.body["configuration"]["allowMultiplePinVerifications"] is False
    assert client.get(path).body == client.json(path, asked, "PUT").body == made.body
    assert message.body["messageText"].count("{{pin}}") == 1
    assert (message.body["pinLength"], message.body["pinType"]) == (4, "NUMERIC")
    assert client.get(message_path).body == message.body
    assert client.json(message_path, {"pinLength": 4}, "PUT").body == message.body
    assert send(client, messageId=message.body["messageId"]).status == 200


@pytest.mark.parametrize(
    "template",
    [
        {},
        {"messageText": "no placeholder", "pinType": "NUMERIC"},
        {"messageText": "{{pin}}", "pinType": "ALPHA"},
        {"messageText": "{{pin}}", "pinType": "NUMERIC", "pinLength": 3},
        {"messageText": "{{pin}}", "pinType": "NUMERIC", "pinLength": 9},
    ],
)
def test_template_that_cannot_be_sent_is_refused(
    client: DialectClient, template: dict[str, Any]
) -> None:
    path = f"/2fa/2/applications/{application_of(client)}/messages"

    assert refusal(client.json(path, template)) == (400, "BAD_REQUEST")
    length = {"pinLength": 5}
    assert refusal(client.json(f"{path}/{message_of(client, 4)}", length, "PUT")) == (
        400,
        "BAD_REQUEST",
    )


def test_ids_are_shared_by_keys_of_one_purpose(company: Company) -> None:
    first, second = client_of(company), client_of(company)
    others = [
        DialectClient(DIALECT, client_key(company, "payment", mode=Mode.LIVE).plaintext),
        DialectClient(DIALECT, client_key(company, PURPOSE, mode=Mode.TEST).plaintext),
        client_of(CompanyFactory.create()),
    ]

    assert application_of(first) == application_of(second)
    assert len({application_of(each) for each in (first, *others)}) == 4
    pin_id = send(first).body["pinId"]
    for other in others:
        for path in (f"/2fa/2/pin/{pin_id}/verify", f"/2fa/2/pin/{pin_id}/resend"):
            assert refusal(other.json(path, {"pin": "123456"})) == (404, "NOT_FOUND")
    assert verify(second, pin_id, code_of(PHONE, PURPOSE)).body["verified"] is True


def test_unknown_ids_are_not_found(client: DialectClient) -> None:
    responses = [
        send(client, applicationId="A" * 32),
        send(client, messageId="A" * 32),
        client.get("/2fa/2/applications/x"),
        client.get(f"/2fa/2/applications/{application_of(client)}/messages/x"),
        verify(client, "x", "123456"),
        verify(client, UUID(int=0).hex, "123456"),
        client.json("/2fa/2/pin/%00/resend", {}),
    ]

    assert {refusal(response) for response in responses} == {(404, "NOT_FOUND")}


def test_statuses_list_pins_within_a_codes_lifetime(client: DialectClient) -> None:
    path = f"/2fa/2/applications/{application_of(client)}/verifications"
    pin_id = send(client).body["pinId"]

    (pending,) = client.get(f"{path}?msisdn={TO}&verified=false&sent=True").body["verifications"]
    verify(client, pin_id, code_of(PHONE, PURPOSE))
    (verified,) = client.get(f"{path}?msisdn={TO}&verified=true").body["verifications"]

    assert pending.keys() == {"msisdn", "verified", "sentAt"}
    assert (verified["msisdn"], verified["verified"]) == (TO, True)
    assert abs(verified["verifiedAt"] - verified["sentAt"]) < 60_000
    assert client.get(f"{path}?msisdn={TO}&verified=false").body == {"verifications": []}
    assert client.get(f"{path}?msisdn=4915112345678").body == {"verifications": []}
    assert refusal(client.get(path)) == (400, "BAD_REQUEST")
    age_rows(seconds=settings.CODE_LIFETIME + 1)
    assert client.get(f"{path}?msisdn={TO}").body == {"verifications": []}


@pytest.mark.parametrize(
    "path",
    [
        "pin/voice",
        "pin/email",
        "pin/x/resend/voice",
        "pin/x/resend/email",
        "applications/x/email/messages",
    ],
)
def test_voice_and_email_are_refused(client: DialectClient, path: str) -> None:
    assert refusal(client.json(f"/2fa/2/{path}", {})) == (403, "FORBIDDEN")


@pytest.mark.parametrize(
    ("number", "expected"),
    [
        ("79990000001", (400, "BAD_REQUEST")),
        ("79990000002", (403, "FORBIDDEN")),
        ("79990000011", (429, "TOO_MANY_REQUESTS")),
        ("79990000012", (429, "TOO_MANY_REQUESTS")),
        ("79990000013", (400, "BAD_REQUEST")),
        ("79990000014", (400, "BAD_REQUEST")),
        ("79990000015", (403, "FORBIDDEN")),
        ("79990000016", (403, "FORBIDDEN")),
    ],
)
def test_refusals_of_a_send(company: Company, number: str, expected: tuple[int, str]) -> None:
    client = DialectClient(DIALECT, client_key(company, PURPOSE).plaintext)

    assert refusal(send(client, number)) == expected


def test_error_names_infobips_own_field(client: DialectClient) -> None:
    exception = send(client, "12345").body["requestError"]["serviceException"]

    assert list(exception["validationErrors"]) == ["to"]


@pytest.mark.parametrize("name", ["applicationId", "messageId", "to", "trackDelivery", "pin"])
def test_odd_values_are_refused_in_infobips_format(client: DialectClient, name: str) -> None:
    pin_id = send(client).body["pinId"]
    paths = ("/2fa/2/pin", f"/2fa/2/pin/{pin_id}/verify")

    responses = [client.json(path, {"to": TO, name: odd}) for path in paths for odd in ODD]

    assert {refusal(response) for response in responses} <= {
        (400, "BAD_REQUEST"),
        (404, "NOT_FOUND"),
    }
