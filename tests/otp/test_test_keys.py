"""Test keys: the script of a test phone, and that nothing is sent or charged."""

import time
from datetime import timedelta

import pytest
import time_machine
from django.conf import settings
from django.utils import timezone

from billing.models import Transfer
from billing.wallet import ledger
from channels.deliver import sweeps
from channels.deliver.dispatcher import Dispatcher
from channels.models import Attempt, Message
from tests.api.books import books
from tests.api.clients import Api, ApiResponse
from tests.otp.sent_codes import age_rows, code_of
from tests.stack.programs import wait_until

URL = "https://example.com/"
NOT_A_PHONE = "Укажите номер с плюсом и кодом страны, например +79161234567"


def number(digits: str) -> str:
    return f"+7916123{digits}"


def send(api: Api, digits: str, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": number(digits)} | fields)


def send_link(api: Api, digits: str, **fields: object) -> ApiResponse:
    return api.post("/links/send", {"phone": number(digits), "url": URL} | fields)


def verify(api: Api, digits: str) -> ApiResponse:
    code = code_of(number(digits), mode="test")
    return api.post("/otp/verify", {"phone": number(digits), "code": code})


REFUSED: list[tuple[str, int, str, dict[str, object]]] = [
    ("0001", 422, "invalid_phone", {"errors": {"phone": [NOT_A_PHONE]}}),
    ("0002", 402, "insufficient_tokens", {"required": 1, "available": 0}),
    ("0005", 429, "resend_too_soon", {"retry_after": 60}),
    ("0011", 429, "send_limit", {"limit": {"kind": "phone"}, "retry_after": 600}),
    ("0012", 429, "too_many_attempts", {"retry_after": 3600}),
    ("0013", 422, "channel_unavailable", {}),
    ("0014", 422, "country_not_allowed", {"country": "RU"}),
]
OF_CODES = {"0005", "0012"}  # a cool-down and a cap of guesses, which links have not


@pytest.mark.parametrize(
    ("call", "digits", "status", "code", "more"),
    [
        (call, *case)
        for call in (send, send_link)
        for case in REFUSED
        if call is send or case[0] not in OF_CODES
    ],
)
def test_refusing_test_phone_is_refused_at_once(
    test_api: Api, *, call: type, digits: str, status: int, code: str, more: dict[str, object]
) -> None:
    before = books()

    response = call(test_api, digits)

    known = {"success": False, "code": code, **more}
    assert (response.status, response.body.keys() - known) == (status, {"message", "request_id"})
    assert response.body | known == response.body
    assert response.headers.get("Retry-After") == (
        str(more["retry_after"]) if status == 429 else None
    )
    assert books() == before


@pytest.mark.parametrize(
    ("digits", "status", "code"),
    [("0003", 422, "recipient_unreachable"), ("0008", 502, "delivery_failed")],
)
@pytest.mark.parametrize("call", [send, send_link])
def test_test_phone_is_refused_by_the_channel(
    dispatcher: Dispatcher, test_api: Api, *, call: type, digits: str, status: int, code: str
) -> None:
    response = call(test_api, digits, channel="sms")

    message = Message.objects.get()
    known = {"success": False, "code": code, "id": message.public_id, "channel": "sms"}
    assert (response.status, response.body.keys() - known) == (status, {"message", "request_id"})
    assert response.body | known == response.body
    assert message.state == "failed"


@pytest.mark.parametrize("digits", ["0000", "4567"])
@pytest.mark.parametrize("channel", ["whatsapp", "telegram", "sms"])
def test_test_phone_receives_at_once(
    dispatcher: Dispatcher, test_api: Api, digits: str, channel: str
) -> None:
    response = send(test_api, digits, channel=channel, link=URL)

    assert (response.status, response.body["status"]) == (200, "delivered")
    assert (response.body["channel"], response.body["cost"], response.body["test"]) == (
        channel,
        0,
        True,
    )
    assert verify(test_api, digits).status == 200


def test_code_that_is_expired_when_it_arrives(dispatcher: Dispatcher, test_api: Api) -> None:
    response = send(test_api, "0004")

    assert (response.status, response.body["status"], response.body["expires_in"]) == (
        200,
        "delivered",
        0,
    )
    assert verify(test_api, "0004").code == "code_expired"


def test_message_is_delivered_after_half_a_minute(dispatcher: Dispatcher, test_api: Api) -> None:
    response = send(test_api, "0006")
    assert (response.status, response.body["status"]) == (200, "sent")
    attempt = Attempt.objects.get()
    assert attempt.poll_at is not None

    for seconds, state in ((10, "sent"), (31, "delivered")):
        Attempt.objects.update(poll_at=timezone.now() - timedelta(minutes=1))
        with time_machine.travel(timezone.now() + timedelta(seconds=seconds), tick=False):
            sweeps.poll()
        assert Message.objects.get().state == state


def test_phone_of_undelivered_messages_expires_them(dispatcher: Dispatcher, test_api: Api) -> None:
    response = send(test_api, "0007")
    assert (response.status, response.body["status"]) == (200, "sent")

    age_rows(seconds=601)
    Attempt.objects.update(poll_at=timezone.now() - timedelta(minutes=1))
    sweeps.sweep()

    assert Message.objects.get().state == "expired"


@pytest.mark.parametrize(
    ("channel", "fallback"),
    [("whatsapp", "telegram"), ("telegram", "whatsapp"), ("sms", "whatsapp")],
)
@pytest.mark.parametrize("call", [send, send_link])
def test_falls_back_to_the_next_channel(
    dispatcher: Dispatcher, test_api: Api, call: type, channel: str, fallback: str
) -> None:
    response = call(test_api, "0009", channel=channel)

    assert (response.status, response.body["channel"]) == (200, fallback)
    for _ in range(100):
        message = Message.objects.get()
        if message.state == "delivered":
            break
        dispatcher.wake()
        dispatcher.loop.stopping.wait(0.02)
    assert (message.state, message.channel, message.hold) == ("delivered", fallback, 2)
    attempts = Attempt.objects.order_by("n").values_list("channel", "state")
    assert list(attempts) == [(channel, "failed"), (fallback, "delivered")]


def test_live_keys_have_no_script(api: Api) -> None:
    for n in range(15):
        assert send(api, f"{n:04}").status == 200
        assert send_link(api, f"{n:04}").status == 200

    assert set(Message.objects.values_list("state", flat=True)) == {"queued"}
    assert all(message.chain == [] for message in Message.objects.all())


def test_nothing_is_ever_charged(dispatcher: Dispatcher, test_api: Api) -> None:
    for digits in ("0003", "0004", "0006", "0007", "0008", "0009", "4567"):
        send(test_api, digits, channel="sms")
        send_link(test_api, digits)

    assert ledger.balance(test_api.company.pk) == (1000, 0)
    assert Transfer.objects.count() == 1  # the grant


def test_guess_at_a_number_with_no_guesses_left_is_refused(test_api: Api) -> None:
    response = test_api.post("/otp/verify", {"phone": number("0012"), "code": "123456"})

    assert (response.status, response.code) == (429, "too_many_attempts")
    assert response.headers["Retry-After"] == "3600"


@pytest.mark.parametrize("call", [send, send_link])
def test_queued_is_answered_at_once_and_delivered_later(
    dispatcher: Dispatcher, test_api: Api, call: type
) -> None:
    began = time.monotonic()
    response = call(test_api, "0010")
    took = time.monotonic() - began

    assert (response.status, response.body["status"]) == (200, "queued")
    assert took < settings.SEND_WAIT
    wait_until(lambda: Attempt.objects.filter(state="failed").exists())
    Message.objects.update(due_at=timezone.now())
    wait_until(lambda: Message.objects.get().state == "delivered")


def test_messages_of_test_keys_are_listed_with_text_code_and_link(
    dispatcher: Dispatcher, test_api: Api
) -> None:
    code = send(test_api, "4567", link=URL)
    link = send_link(test_api, "4568", locale="en", channel="telegram")

    response = test_api.get("/test/messages")

    shown = code_of(number("4567"), mode="test")
    assert response.status == 200
    assert [message.pop("created_at")[-1] for message in response.body["data"]] == ["Z", "Z"]
    assert response.body | {"data": []} == {
        "success": True,
        "message": "Сообщения тестовых ключей",
        "data": [],
        "has_more": False,
        "next_cursor": None,
    }
    expected = [
        {
            "id": link.body["id"],
            "kind": "link",
            "phone": number("4568"),
            "channel": "telegram",
            "status": "delivered",
            "text": f"A link for you: {link.body['short_url']}",
            "code": None,
            "short_url": link.body["short_url"],
        },
        {
            "id": code.body["id"],
            "kind": "code",
            "phone": number("4567"),
            "channel": "whatsapp",
            "status": "delivered",
            "text": f"Ваш код подтверждения: {shown}. Его запросили для Ромашка; "
            "никому его не сообщайте.",
            "code": shown,
            "short_url": code.body["short_url"],
        },
    ]
    result = [{k: v for k, v in row.items() if k != "created_at"} for row in response.body["data"]]
    assert result == expected


def test_test_messages_are_filtered_by_phone(test_api: Api) -> None:
    send(test_api, "4567")
    send(test_api, "4568")

    response = test_api.get("/test/messages", {"phone": "8 916 123-45-68"})

    assert [message["phone"] for message in response.body["data"]] == [number("4568")]


def test_test_messages_show_no_live_one(api: Api, test_api: Api) -> None:
    send(api, "4567")

    assert test_api.get("/test/messages").body["data"] == []
    refused = api.get("/test/messages")
    assert (refused.status, refused.code) == (403, "forbidden")
    assert refused.body["message"] == "Только для тестовых ключей"
