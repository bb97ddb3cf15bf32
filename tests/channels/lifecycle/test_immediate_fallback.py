"""Fallback within one call: the next channel answers, or all of them fail."""

import re
from collections.abc import Iterator

import pytest
import responses

from billing.wallet import ledger
from channels import reconciliation
from channels.deliver.dispatcher import Dispatcher
from channels.models import Message
from tests.api.clients import Api
from tests.channels.deliver.test_dispatcher import NOT_ON_WHATSAPP, WHATSAPP, accepted_body
from tests.channels.fallback_stages import URL, enable_fallback, fallback_events, transfers, tries
from tests.channels.message_stages import PHONE
from tests.otp.test_test_keys import number

pytestmark = pytest.mark.django_db(transaction=True)

TWILIO = re.compile(r".*/Messages\.json$")
TAKEN_BY_TWILIO = {"sid": "SM1", "status": "queued"}
UNREACHABLE_BY_TWILIO = {"code": 21614, "message": "not a mobile number", "status": 400}


@pytest.fixture
def wire(transactional_db: None) -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock
    assert list(reconciliation.breaches()) == []


@pytest.fixture
def falling_api(dispatcher: Dispatcher, api: Api) -> Api:
    enable_fallback(api.company, "whatsapp", "sms")
    return api


def test_refusal_by_whatsapp_falls_back_to_sms_in_the_request(
    wire: responses.RequestsMock, falling_api: Api
) -> None:
    wire.post(WHATSAPP, json=NOT_ON_WHATSAPP, status=400)
    wire.post(TWILIO, json=TAKEN_BY_TWILIO, status=201)

    response = falling_api.post("/otp/send", {"phone": PHONE})

    answered = {name: response.body[name] for name in ("status", "channel", "cost", "message")}
    assert answered == {
        "status": "sent",
        "channel": "sms",
        "cost": 16,
        "message": "Код отправлен по SMS",
    }
    message = Message.objects.get()
    assert (message.state, message.channel, message.price) == ("sent", "sms", 16)
    assert tries(message) == [("whatsapp", "failed"), ("sms", "sent")]
    assert transfers(message) == [("hold", 1, ""), ("release", 1, "refused"), ("hold", 16, "")]
    assert fallback_events(message) == [("refused", "sms")]
    assert ledger.balance(falling_api.company.pk) == (984, 16)


@pytest.mark.parametrize(
    ("whatsapp", "status", "code"),
    [
        (NOT_ON_WHATSAPP, 422, "recipient_unreachable"),
        ({"error": {"code": 132001, "message": "no template"}}, 502, "delivery_failed"),
    ],
)
def test_send_that_every_channel_refuses_is_answered_by_the_last(
    wire: responses.RequestsMock,
    falling_api: Api,
    whatsapp: dict[str, object],
    status: int,
    code: str,
) -> None:
    wire.post(WHATSAPP, json=whatsapp, status=400)
    wire.post(TWILIO, json=UNREACHABLE_BY_TWILIO, status=400)

    response = falling_api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.code, response.body["channel"]) == (status, code, "sms")
    message = Message.objects.get()
    assert tries(message) == [("whatsapp", "failed"), ("sms", "failed")]
    assert transfers(message)[2:] == [("hold", 16, ""), ("release", 16, "failed")]
    assert ledger.balance(falling_api.company.pk) == (1000, 0)


def test_fallback_without_tokens_ends_with_the_first_error(
    wire: responses.RequestsMock, falling_api: Api
) -> None:
    ledger.withdraw(company=falling_api.company, amount=985, reason="test")
    wire.post(WHATSAPP, json=NOT_ON_WHATSAPP, status=400)

    response = falling_api.post("/otp/send", {"phone": PHONE})

    assert (response.status, response.code, response.body["channel"]) == (
        422,
        "recipient_unreachable",
        "whatsapp",
    )
    message = Message.objects.get()
    assert transfers(message) == [("hold", 1, ""), ("release", 1, "failed")]
    assert fallback_events(message) == [("tokens", "sms")]
    assert ledger.balance(falling_api.company.pk) == (15, 0)


def test_link_by_fallback_sms_reports_its_segments(
    wire: responses.RequestsMock, falling_api: Api
) -> None:
    wire.post(WHATSAPP, json=NOT_ON_WHATSAPP, status=400)
    wire.post(TWILIO, json=TAKEN_BY_TWILIO, status=201)
    fields = {"phone": PHONE, "url": URL, "text": "т" * 80 + " :link"}

    response = falling_api.post("/links/send", fields)

    assert (response.body["channel"], response.body["segments"], response.body["cost"]) == (
        "sms",
        2,
        16,
    )
    assert Message.objects.get().segments == 2


def test_text_too_long_for_sms_has_no_sms_fallback(
    wire: responses.RequestsMock, falling_api: Api
) -> None:
    wire.post(WHATSAPP, json=accepted_body())
    fields = {"phone": PHONE, "url": URL, "text": "т" * 300}

    assert falling_api.post("/links/send", fields).status == 200
    assert falling_api.post("/links/send", fields | {"channel": "sms"}).status == 422

    message = Message.objects.get()
    assert (message.chain, message.fallback_at, message.segments) == ([], None, 1)


def test_chain_decides_where_no_channel_is_the_default(
    wire: responses.RequestsMock, falling_api: Api
) -> None:
    enable_fallback(falling_api.company, "sms", "whatsapp")
    wire.post(TWILIO, json=TAKEN_BY_TWILIO, status=201)

    assert falling_api.post("/otp/send", {"phone": PHONE}).body["channel"] == "sms"
    assert [step["channel"] for step in Message.objects.get().chain] == ["whatsapp"]


def test_test_keys_follow_the_chain_and_pay_nothing(dispatcher: Dispatcher, test_api: Api) -> None:
    enable_fallback(test_api.company, "telegram", "sms", default_channel="telegram")

    response = test_api.post("/otp/send", {"phone": number("0009")})

    assert (response.body["channel"], response.body["cost"]) == ("sms", 0)
    message = Message.objects.get()
    assert (message.channel, message.hold, transfers(message)) == ("sms", 2, [])
    assert ledger.balance(test_api.company.pk) == (1000, 0)


def test_scripted_number_falls_back_where_nothing_follows(
    dispatcher: Dispatcher, test_api: Api
) -> None:
    enable_fallback(test_api.company, "telegram", "sms", default_channel="sms")

    assert test_api.post("/otp/send", {"phone": number("0009")}).body["channel"] == "whatsapp"


def test_whole_chain_of_a_test_key_is_unreachable(dispatcher: Dispatcher, test_api: Api) -> None:
    enable_fallback(test_api.company, "whatsapp", "telegram", "sms")

    response = test_api.post("/otp/send", {"phone": number("0003")})

    assert (response.status, response.code) == (422, "recipient_unreachable")
    assert tries(Message.objects.get()) == [
        ("whatsapp", "failed"),
        ("telegram", "failed"),
        ("sms", "failed"),
    ]
