"""The simulated Telegram bot, as clients of others use it."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import pytest
from telegram import Bot, InlineKeyboardButton, InlineKeyboardMarkup, Update
from telegram.error import Forbidden

from tests.tools.simulator.peers import ACCOUNT, Hook, Receiver, Simulator
from tests.tools.simulator.sends import send_bot

T = TypeVar("T")
BUTTON = InlineKeyboardMarkup([[InlineKeyboardButton("Открыть", url="https://kv.example/aB3")]])


def as_bot(
    simulator: Simulator,
    act: Callable[[Bot], Awaitable[T]],
    token: str = ACCOUNT["TELEGRAM_BOT_TOKEN"],
) -> T:
    """Calls as the bot, by a foreign client of the Bot API."""

    async def acting() -> T:
        async with Bot(token, base_url=f"{simulator.url}/telegram-bot/bot") as bot:
            return await act(bot)

    return asyncio.run(acting())


def updates(receiver: Receiver, phone: str, count: int) -> list[dict[str, Any]]:
    def fits(hook: Hook) -> bool:
        return hook.path == "/hooks/telegram-bot" and phone in hook.body.decode()

    hooks = receiver.wait(fits, count)
    assert {hook.headers["x-telegram-bot-api-secret-token"] for hook in hooks} == {"bot-secret"}
    return [hook.json for hook in hooks]


def test_foreign_client_sends_a_link_behind_a_button(simulator: Simulator, phone: str) -> None:
    sent = as_bot(
        simulator, lambda bot: bot.send_message(int(phone), "Код 4821", reply_markup=BUTTON)
    )

    (message,) = simulator.messages(phone)
    assert sent.chat.id == int(phone)
    assert sent.text == "Код 4821"
    assert str(sent.message_id) == message["id"]
    assert message["text"] == "Код 4821\nОткрыть: https://kv.example/aB3"
    assert (message["code"], message["links"]) == ("4821", ["https://kv.example/aB3"])
    assert (message["provider"], message["state"]) == ("telegram_bot", "delivered")


def button(**fields: object) -> dict[str, Any]:
    return {"inline_keyboard": [[{"text": "Go", **fields}]]}


@pytest.mark.parametrize(
    ("changed", "description"),
    [
        ({"chat_id": None}, "chat_id is empty"),
        ({"chat_id": 5}, "chat not found"),
        ({"chat_id": "@someone"}, "chat not found"),
        ({"text": ""}, "message text is empty"),
        ({"text": "  "}, "message text is empty"),
        ({"text": "я" * 4097}, "message is too long"),
        ({"text": "😀" * 2049}, "message is too long"),
        ({"reply_markup": "{"}, "can't parse reply keyboard markup JSON object"),
        ({"reply_markup": button(url="no url")}, "BUTTON_URL_INVALID"),
        ({"reply_markup": button(url="javascript:alert(1)")}, "BUTTON_URL_INVALID"),
        ({"reply_markup": button()}, "Text buttons are unallowed in the inline keyboard"),
        (
            {"reply_markup": button(text="", url="https://a.example")},
            "inline keyboard button text is empty",
        ),
    ],
)
def test_malformed_send_is_refused(
    simulator: Simulator, phone: str, changed: dict[str, Any], description: str
) -> None:
    body = send_bot(simulator, phone, **changed).json()

    wanted = f"Bad Request: {description}"
    assert body == {"ok": False, "error_code": 400, "description": wanted}
    assert simulator.messages(phone) == []


def test_unshared_phone_cannot_be_written_to(simulator: Simulator, phone: str) -> None:
    simulator.do(phone, "unshare")

    with pytest.raises(Forbidden, match="bot can't initiate conversation with a user"):
        as_bot(simulator, lambda bot: bot.send_message(int(phone), "x"))

    simulator.do(phone, "share")
    assert send_bot(simulator, phone).status_code == 200


def test_block_of_the_bot_is_stored_and_stops_messages(
    simulator: Simulator, receiver: Receiver, phone: str
) -> None:
    simulator.do(phone, "block")
    with pytest.raises(Forbidden, match="bot was blocked by the user"):
        as_bot(simulator, lambda bot: bot.send_message(int(phone), "x"))
    simulator.do(phone, "unblock")

    changes = [update["my_chat_member"] for update in updates(receiver, phone, 2)]
    assert [change["new_chat_member"]["status"] for change in changes] == ["kicked", "member"]
    assert send_bot(simulator, phone).status_code == 200


def read(body: dict[str, Any]) -> Update:
    """With no field left over that the library does not know."""
    update = Update.de_json(body, None)
    event = update.message or update.my_chat_member
    assert event is not None
    assert (update.api_kwargs, event.api_kwargs, event.chat.api_kwargs) == ({}, {}, {})
    assert event.from_user is not None
    assert event.from_user.api_kwargs == {}
    return update


def seen(update: Update) -> str:
    if update.message is None:
        assert update.my_chat_member is not None
        return str(update.my_chat_member.new_chat_member.status)
    return "contact" if update.message.contact else str(update.message.text)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["unshare", "start"], ["/start contact"]),
        (["share", "stop", "start"], ["contact", "/stop", "/start contact"]),
        (["stop"], ["contact", "/stop"]),  # who counts as known shares first, to be stopped
        (["share", "block", "unblock"], ["contact", "kicked", "member"]),
        (["share", "block", "start"], ["contact", "kicked", "member", "/start contact"]),
    ],
)
def test_other_library_reads_updates_of_people(
    simulator: Simulator, receiver: Receiver, phone: str, actions: list[str], expected: list[str]
) -> None:
    for action in actions:
        simulator.do(phone, action)

    received = [read(update) for update in updates(receiver, phone, len(expected))]

    assert sorted(map(seen, received)) == sorted(expected)
    commands = [
        update.message.entities for update in received if update.message and update.message.text
    ]
    assert all(entities[0].type == "bot_command" for entities in commands)
