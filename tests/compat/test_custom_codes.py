"""Clients of other services that ask again with their own code, and how long they wait."""

from collections.abc import Callable
from typing import Any, NamedTuple

import pytest
from django.conf import settings

from accounts.models import Company, Mode
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from compat.dialect import dialects
from compat.twilio.dialect import service_sid
from otp.models import Verification
from tests.api.clients import ApiResponse
from tests.channels.message_stages import apply_event, claim
from tests.compat.clients import DialectClient, client_key
from tests.compat.prelude import calls as prelude
from tests.compat.vonage import calls as vonage
from tests.otp.sent_codes import forget_limits

PHONE = "+79161234567"
CODE = "A1b2C3"
WRONG = "A1b2C4"
TOO_MANY_WRONG_CODES = "+79990000012"  # of a test key: refused


class Caller(NamedTuple):
    send: Callable[..., ApiResponse]  # with the phone, and a custom code if there is one
    check: Callable[[ApiResponse, str], ApiResponse]  # with the answer to the send


def _twilio(company: Company, mode: str) -> Caller:
    client = DialectClient(dialects()["twilio"], client_key(company, mode=mode).plaintext)
    service = f"/v2/Services/{service_sid(company.pk, mode, 'login')}"

    def send(phone: str = PHONE, code: str = "") -> ApiResponse:
        fields = {"To": phone, "Channel": "sms"} | ({"CustomCode": code} if code else {})
        return client.form(f"{service}/Verifications", fields)

    def check(_sent: ApiResponse, code: str) -> ApiResponse:
        return client.form(f"{service}/VerificationCheck", {"To": PHONE, "Code": code})

    return Caller(send, check)


def _prelude(company: Company, mode: str) -> Caller:
    client = DialectClient(dialects()["prelude"], client_key(company, mode=mode).plaintext)

    def send(phone: str = PHONE, code: str = "") -> ApiResponse:
        return prelude.send(client, phone, options={"custom_code": code} if code else {})

    return Caller(send, lambda _sent, code: prelude.check(client, code))


def _vonage(company: Company, mode: str) -> Caller:
    client = vonage.client_of(company, mode)

    def send(phone: str = PHONE, code: str = "") -> ApiResponse:
        return vonage.start(
            client, {"channel": "sms", "to": phone[1:]}, **({"code": code} if code else {})
        )

    def check(sent: ApiResponse, code: str) -> ApiResponse:
        return vonage.check_code(client, sent.body["request_id"], code)

    return Caller(send, check)


each_service = pytest.mark.parametrize("service", [_twilio, _prelude, _vonage])
each_end = pytest.mark.parametrize("guesses", [[CODE], [WRONG] * settings.CODE_ATTEMPTS])
Service = Callable[[Company, str], Caller]


def _is_right(response: ApiResponse) -> bool:
    return response.status < 300 and response.body["status"] in {"approved", "success", "completed"}


@each_service
@each_end
def test_ended_custom_code_is_not_answered_as_under_way(
    company: Company, service: Service, guesses: list[str]
) -> None:
    client = service(company, Mode.LIVE)
    sent = client.send(code=CODE)
    for guess in guesses:
        client.check(sent, guess)

    again = client.send(code=CODE)

    assert again.status == 429
    assert int(again.headers["Retry-After"]) > 0
    assert Message.objects.count() == 1


@each_service
@each_end
def test_ended_custom_code_is_sent_and_entered_again(
    company: Company, service: Service, guesses: list[str]
) -> None:
    client = service(company, Mode.TEST)  # it need not wait
    sent = client.send(code=CODE)
    for guess in guesses:
        client.check(sent, guess)

    again = client.send(code=CODE)

    assert _is_right(client.check(again, CODE))
    assert Message.objects.count() == 2


@each_service
@pytest.mark.parametrize("code", [CODE, ""])
def test_code_that_the_carrier_refused_is_sent_again_at_once(
    company: Company, service: Service, code: str
) -> None:
    client = service(company, Mode.LIVE)
    client.send(code=code)
    claim()
    apply_event(Attempt.objects.get(), EventKind.REFUSED)
    forget_limits()  # such a send does not count

    again = client.send(code=code)

    assert again.status < 300
    assert Message.objects.count() == 2
    assert Verification.objects.count() == 1


@each_service
def test_refusal_for_wrong_codes_names_the_wait(company: Company, service: Service) -> None:
    client = service(company, Mode.TEST)

    response = client.send(TOO_MANY_WRONG_CODES)

    assert response.status == 429 or response.body["status"] == "blocked"
    assert response.status != 429 or int(response.headers["Retry-After"]) > 0


@pytest.mark.parametrize("mode", [Mode.TEST, Mode.LIVE])
def test_last_wrong_code_names_the_wait(company: Company, mode: str) -> None:
    client = _twilio(company, mode)
    sent = client.send(code=CODE)

    responses = [client.check(sent, WRONG) for _ in range(settings.CODE_ATTEMPTS)]

    assert [response.status for response in responses] == [201] * (settings.CODE_ATTEMPTS - 1) + [
        429
    ]
    assert int(responses[-1].headers["Retry-After"]) > 0


def test_preferred_channel_carries_a_custom_code_at_once(company: Company) -> None:
    client = DialectClient(dialects()["prelude"], client_key(company, mode=Mode.LIVE).plaintext)
    options: dict[str, Any] = {"custom_code": CODE}
    first = prelude.send(client, options=options).body

    again = prelude.send(client, options=options, metadata={"correlation_id": "order-7"}).body
    by_sms, tried = (
        prelude.send(client, options=options | {"preferred_channel": "sms"}).body for _ in "12"
    )

    assert [response["status"] for response in (first, again, by_sms, tried)] == [
        "success",
        "retry",
        "retry",
        "retry",
    ]
    assert again == first | {"status": "retry", "request_id": again["request_id"]}
    assert (again["channels"], by_sms["channels"]) == (["whatsapp"], ["sms"])
    assert tried == by_sms | {"request_id": tried["request_id"]}
    assert sorted(message.channel for message in Message.objects.all()) == ["sms", "whatsapp"]


@pytest.mark.parametrize(("mode", "status"), [(Mode.LIVE, 429), (Mode.TEST, 200)])
def test_custom_code_of_another_payment_is_not_a_repeat(
    company: Company, mode: str, status: int
) -> None:
    client = DialectClient(dialects()["prelude"], client_key(company, mode=mode).plaintext)
    payments = [
        {"amount": amount, "currency": "EUR", "recipient": "Shop"} for amount in ("10.00", "99.00")
    ]

    *_same, other = (
        prelude.send(
            client,
            options={"custom_code": CODE, "template_id": "prelude:psd2", "variables": payment},
        )
        for payment in (payments[0], payments[0], payments[1])
    )

    assert other.status == status
    checked = prelude.check(client, CODE, psd2=payments[1]).body["status"]
    assert checked == ("success" if status == 200 else "transaction_mismatch")
