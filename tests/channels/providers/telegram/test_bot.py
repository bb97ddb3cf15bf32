"""Telegram's bot: its messages, and updates of the people who write to it."""

from typing import Any

import orjson
import pytest
import responses
import telegram

from channels.providers.base import (
    Accepted,
    AmbiguousError,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    UnreachableError,
)
from channels.providers.bot import BotText
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    Started,
    Stopped,
    TextReceived,
)
from tests.channels.providers.vendors import (
    BOT_TOKEN,
    PAYLOADS,
    VENDORS,
    body_of,
    bot,
    bot_call,
    code_with_link,
    link,
    message,
    payload,
)

URL = VENDORS["telegram_bot"].send_url
CHAT = 7770000001


def sent_body(wire: responses.RequestsMock, outgoing: Outgoing) -> dict[str, Any]:
    wire.post(URL, body=VENDORS["telegram_bot"].accepted)
    assert bot().send(outgoing) == Accepted(f"110201543:{CHAT}:42")
    body: dict[str, Any] = orjson.loads(body_of(wire.calls[0].request))
    return body


def refused(wire: responses.RequestsMock, body: bytes, status: int = 400) -> SendError:
    wire.post(URL, body=body, status=status)
    with pytest.raises(SendError) as caught:
        bot().send(message())
    return caught.value


def test_code_is_protected_and_has_no_button(wire: responses.RequestsMock) -> None:
    assert sent_body(wire, message()) == {
        "chat_id": CHAT,
        "text": "Ваш код: 482915",
        "link_preview_options": {"is_disabled": True},
        "protect_content": True,
    }


@pytest.mark.parametrize(("locale", "label"), [("ru", "Открыть"), ("en", "Open")])
def test_link_has_a_button(wire: responses.RequestsMock, locale: str, label: str) -> None:
    body = sent_body(wire, link(locale=locale))

    button = {"text": label, "url": "https://l.example.com/bcdfghjk"}
    assert body == {
        "chat_id": CHAT,
        "text": "Ваш документ: https://l.example.com/bcdfghjk",
        "link_preview_options": {"is_disabled": True},
        "protect_content": False,
        "reply_markup": {"inline_keyboard": [[button]]},
    }


def test_code_with_a_link_is_protected_and_has_a_button(wire: responses.RequestsMock) -> None:
    body = sent_body(wire, code_with_link())

    assert body["protect_content"] is True
    assert body["reply_markup"]["inline_keyboard"][0][0]["url"].endswith("/bcdfghjkmn")


@pytest.mark.parametrize(
    ("token", "chat_id", "provider_id"),
    [
        (BOT_TOKEN, CHAT, f"110201543:{CHAT}:42"),
        (BOT_TOKEN, CHAT + 1, f"110201543:{CHAT + 1}:42"),
        ("987:another-bot", CHAT, f"987:{CHAT}:42"),
    ],
)
def test_message_ids_differ_between_chats_and_bots(
    wire: responses.RequestsMock, token: str, chat_id: int, provider_id: str
) -> None:
    wire.post(URL.replace(BOT_TOKEN, token), body=VENDORS["telegram_bot"].accepted)

    assert bot(token=token).send(message(chat_id=chat_id)) == Accepted(provider_id)


def test_acceptance_may_have_no_id(wire: responses.RequestsMock) -> None:
    wire.post(URL, body=b'{"ok":true,"result":{}}')

    assert bot().send(message()) == Accepted(None)


def test_phone_without_a_contact_is_unreachable(wire: responses.RequestsMock) -> None:
    with pytest.raises(UnreachableError) as caught:
        bot().send(message(chat_id=None))

    assert caught.value.code == "no_contact"
    assert len(wire.calls) == 0


@pytest.mark.parametrize(
    ("file", "kind", "code", "account"),
    [
        ("error_blocked_2026-09.json", UnreachableError, "403", False),
        ("error_chat_not_found_2026-09.json", UnreachableError, "400", False),
        ("error_button_2026-09.json", RefusedError, "400", False),
        ("error_unauthorized_2026-09.json", RefusedError, "401", True),
        ("error_too_many_requests_2026-09.json", ThrottledError, "429", True),
    ],
)
def test_telegram_error_codes_are_classified(
    wire: responses.RequestsMock, file: str, kind: type[SendError], code: str, account: bool
) -> None:
    error = refused(wire, payload("telegram_bot", file))

    assert (type(error), error.code, error.account) == (kind, code, account)
    assert error.detail


@pytest.mark.parametrize(
    ("code", "description", "status", "kind"),
    [
        (403, "Forbidden: user is deactivated", 403, UnreachableError),
        (403, "Forbidden: bot can't initiate conversation with a user", 403, UnreachableError),
        (400, "Bad Request: PEER_ID_INVALID", 400, UnreachableError),
        (400, "Bad Request: USER_IS_BLOCKED", 400, UnreachableError),
        (400, "Bad Request: bot was blocked by the user", 400, UnreachableError),
        (400, "Bad Request: INPUT_USER_DEACTIVATED", 400, UnreachableError),
        (400, "Bad Request: user is deactivated", 400, UnreachableError),
        (400, "Bad Request: message text is empty", 400, RefusedError),
        (404, "Not Found", 404, RefusedError),
        (500, "Internal Server Error", 500, AmbiguousError),
        # An unknown code is ambiguous when Telegram broke.
        (500, "Words", 400, AmbiguousError),
        (409, "Words", 400, RefusedError),
        (409, "Words", 502, AmbiguousError),
        (400, "Words", 502, RefusedError),
        (403, "Words", 502, UnreachableError),
    ],
)
def test_errors_are_classified_by_code_text_and_status(
    wire: responses.RequestsMock,
    *,
    code: int,
    description: str,
    status: int,
    kind: type[SendError],
) -> None:
    body = orjson.dumps({"ok": False, "error_code": code, "description": description})

    assert type(refused(wire, body, status)) is kind


def test_throttling_says_how_long(wire: responses.RequestsMock) -> None:
    body = payload("telegram_bot", "error_too_many_requests_2026-09.json")

    error = refused(wire, body, 429)

    assert isinstance(error, ThrottledError)
    assert error.retry_after == 34


@pytest.mark.parametrize(
    ("locale", "label"), [("ru", "Поделиться номером"), ("en", "Share my number")]
)
def test_bot_asks_for_the_contact_with_a_button(
    wire: responses.RequestsMock, locale: str, label: str
) -> None:
    wire.post(URL, body=VENDORS["telegram_bot"].accepted)

    bot().answer(CHAT, locale, BotText.SHARE)

    body = orjson.loads(body_of(wire.calls[0].request))
    assert body["chat_id"] == CHAT
    assert body["reply_markup"] == {
        "keyboard": [[{"text": label, "request_contact": True}]],
        "one_time_keyboard": True,
        "resize_keyboard": True,
    }


def test_message_to_user_who_blocked_bot_is_unreachable(wire: responses.RequestsMock) -> None:
    wire.post(URL, body=payload("telegram_bot", "error_blocked_2026-09.json"), status=403)

    with pytest.raises(UnreachableError):
        bot().answer(CHAT, "ru", BotText.SHARE)


@pytest.mark.parametrize("word", [BotText.READY, BotText.STOPPED])
def test_button_is_removed_afterwards(wire: responses.RequestsMock, word: BotText) -> None:
    wire.post(URL, body=VENDORS["telegram_bot"].accepted)

    bot().answer(CHAT, "en", word)

    body = orjson.loads(body_of(wire.calls[0].request))
    assert body["reply_markup"] == {"remove_keyboard": True}
    assert "/st" in body["text"]  # how to go back on it


@pytest.mark.parametrize(
    ("delivered_on", "by_accept", "by_click"),
    [("accept", True, True), ("click", False, True), ("never", False, False)],
)
def test_operator_says_what_counts_as_delivered(
    delivered_on: str, by_accept: bool, by_click: bool
) -> None:
    provider = bot(delivered_on=delivered_on)

    proofs = [
        (provider.is_proved_by(outgoing), provider.capabilities.clicks_prove)
        for outgoing in (message(), link(), code_with_link())
    ]

    assert proofs == [(by_accept, by_click)] * 3


@pytest.mark.parametrize(
    ("username", "url"), [("kvitok_bot", "https://t.me/kvitok_bot?start=contact"), ("", "")]
)
def test_link_to_the_telegram_bot_names_it(username: str, url: str) -> None:
    assert bot(username=username).contact_url == url


@pytest.mark.parametrize(
    ("file", "expected"),
    [
        ("contact_own_2026-09.json", [ContactShared("+998901234567", CHAT, "ru")]),
        ("contact_of_another_2026-09.json", []),
        ("contact_forwarded_2026-09.json", []),
        ("contact_in_group_2026-09.json", []),
        ("started_2026-09.json", [Started(CHAT, "en")]),
        ("started_by_link_2026-11.json", [Started(CHAT, "ru")]),
        ("stopped_2026-11.json", [Stopped(CHAT, "ru")]),
        ("blocked_2026-09.json", [BotBlocked(CHAT, blocked=True)]),
        ("unblocked_2026-09.json", [BotBlocked(CHAT, blocked=False)]),
        ("chat_2026-09.json", [TextReceived("когда придёт код?", CHAT, "ru")]),
    ],
)
def test_telegram_updates_become_contacts_starts_and_stops(
    file: str, expected: list[BotUpdate]
) -> None:
    assert bot().parse_webhook(bot_call(payload("telegram_bot", file))).bot_updates == expected


@pytest.mark.parametrize(
    ("language", "locale"),
    [("ru-RU", "ru"), ("en", "en"), ("de", "de"), ("ja", "en"), (None, "ru")],
)
def test_speaks_the_persons_language(language: str | None, locale: str) -> None:
    update = orjson.loads(payload("telegram_bot", "started_2026-09.json"))
    update["message"]["from"]["language_code"] = language

    assert bot().parse_webhook(bot_call(orjson.dumps(update))).bot_updates == [
        Started(CHAT, locale)
    ]


@pytest.mark.parametrize(
    ("phone", "expected"),
    [
        ("998901234567", ["+998901234567"]),
        ("+998 90 123-45-67", ["+998901234567"]),
        ("", []),
        ("12", []),
        ("9" * 16, []),
        ("٩٩٨٩٠١٢٣٤٥٦٧", []),
        ("+998\u00a090\u00a0123\u201145\u201167", ["+998901234567"]),
        ("(998) 90.123.45.67", ["+998901234567"]),
        # which Telegram, when it finds the card's owner, may read as another number
        ("9989012345s", []),
        ("99890123456７", []),
        ("998901234567;ext=1", []),
        ("99890123456,7", []),
        ("99890+1234567", []),
        ("99890123456#7", []),
        ("w998901234", []),
    ],
)
def test_shared_number_becomes_e164(phone: str, expected: list[str]) -> None:
    update = orjson.loads(payload("telegram_bot", "contact_own_2026-09.json"))
    update["message"]["contact"]["phone_number"] = phone

    read = bot().parse_webhook(bot_call(orjson.dumps(update))).bot_updates

    assert [u.phone for u in read if isinstance(u, ContactShared)] == expected


@pytest.mark.parametrize(
    "file", sorted(path.name for path in (PAYLOADS / "telegram_bot").glob("[bcsu]*.json"))
)
def test_python_telegram_bot_reads_our_updates_too(file: str) -> None:
    update = telegram.Update.de_json(orjson.loads(payload("telegram_bot", file)), None)

    event = update.my_chat_member or update.message
    assert event is not None
    assert event.api_kwargs == {}  # no field that the library does not know
    assert event.chat.api_kwargs == {}
