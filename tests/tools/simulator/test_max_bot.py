"""The simulator's MAX: its bodies by the vendor's schema, its refusals, what people do."""

from typing import Any

import pytest
import requests

from channels.providers.base import AccountRequirements, UnreachableError
from channels.providers.bot import BotText
from channels.providers.inbound import BotBlocked, BotUpdate, ContactShared, Started, Stopped
from channels.providers.max_bot.provider import MaxBot
from tests.channels.providers.max import schema
from tests.channels.providers.vendors import code_with_link, max_bot, max_call
from tests.tools.simulator.peers import ACCOUNT, Hook, Receiver, Simulator
from tests.tools.simulator.sends import send_max

TOKEN = ACCOUNT["MAX_BOT_TOKEN"]
SECRET = ACCOUNT["MAX_BOT_SECRET"]
BEARER = {"Authorization": f"Bearer {TOKEN}"}


def ours(simulator: Simulator) -> MaxBot:
    return max_bot(api_url=f"{simulator.url}/max-bot", token=TOKEN, secret_token=SECRET)


def call(
    simulator: Simulator, path: str, method: str = "GET", **more: Any
) -> tuple[int, dict[str, Any]]:
    headers = more.pop("headers", {"Authorization": TOKEN})
    url = f"{simulator.url}/max-bot{path}"
    response = requests.request(method, url, headers=headers, timeout=5, **more)
    return response.status_code, response.json()


def test_answers_are_as_the_schema_has_them(simulator: Simulator, phone: str) -> None:
    schema.judge(schema.SENT, send_max(simulator, phone).json())
    schema.judge(schema.USER, call(simulator, "/me")[1])
    schema.judge(schema.SUBSCRIPTIONS, call(simulator, "/subscriptions")[1])
    schema.judge(schema.RESULT, call(simulator, "/subscriptions", "POST", json={"url": "x"})[1])
    for kind in ("unreachable", "refuse", "account", "throttle"):
        simulator.set_fault(provider="max_bot", phone=phone, kind=kind, times=1)
        schema.judge(schema.ERROR, send_max(simulator, phone).json())
    schema.judge(schema.ERROR, call(simulator, "/chats")[1])


def test_shows_a_code_with_its_link_and_buttons(simulator: Simulator, phone: str) -> None:
    accepted = ours(simulator).send(code_with_link(chat_id=int(phone), phone=f"+{phone}"))

    (message,) = simulator.messages(phone)
    assert str(accepted.provider_id).startswith("mid.")
    assert (message["provider"], message["state"]) == ("max_bot", "delivered")
    assert message["code"] == "482915"
    assert message["links"] == ["https://l.example.com/bcdfghjkmn"]
    assert "Скопировать код: 482915" in message["text"]


def keyboard(*rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {"attachments": [{"type": "inline_keyboard", "payload": {"buttons": list(rows)}}]}


COPY = {"type": "clipboard", "text": "Copy", "payload": "1"}
OPEN = {"type": "link", "text": "Open", "url": "https://kv.example/a"}


@pytest.mark.parametrize(
    "changed",
    [
        {"text": ""},
        {"text": None},
        {"text": "ж" * 4001},
        {"attachments": "x"},
        {"attachments": [{"type": "contact"}]},
        keyboard(),
        keyboard([]),
        keyboard([COPY | {"text": ""}]),
        keyboard([COPY | {"text": "x" * 129}]),
        keyboard([COPY | {"payload": "x" * 1025}]),
        keyboard([OPEN | {"url": "x" * 2049}]),
        keyboard([COPY | {"type": "copy_text"}]),
        keyboard([COPY] * 8),
        keyboard([OPEN] * 4),
        keyboard(*[[COPY]] * 31),
    ],
)
def test_message_beyond_a_limit_of_max_is_refused(
    simulator: Simulator, phone: str, changed: dict[str, Any]
) -> None:
    response = send_max(simulator, phone, **changed)

    assert (response.status_code, response.json()["code"]) == (400, "proto.payload")
    assert simulator.messages(phone) == []


@pytest.mark.parametrize("changed", [keyboard([COPY] * 7), keyboard([OPEN] * 3, *[[COPY]] * 29)])
def test_message_within_the_limits_of_max_is_accepted(
    simulator: Simulator, phone: str, changed: dict[str, Any]
) -> None:
    assert send_max(simulator, phone, text="ж" * 4000, **changed).status_code == 200


@pytest.mark.parametrize("headers", [{}, BEARER, {"Authorization": "other"}])
def test_token_is_the_whole_header(simulator: Simulator, headers: dict[str, str]) -> None:
    status, body = call(simulator, f"/me?access_token={TOKEN}", headers=headers)

    assert (status, body["code"]) == (401, "verify.token")


@pytest.mark.parametrize("path", ["/messages", "/messages?chat_id=7", "/messages?user_id=x"])
def test_message_without_a_person_has_no_recipient(simulator: Simulator, path: str) -> None:
    status, body = call(simulator, path, "POST", json={"text": "x"})

    assert (status, body["message"]) == (400, "Unknown recipient")


def test_ended_chat_is_unreachable_until_it_is_resumed(simulator: Simulator, phone: str) -> None:
    def code() -> str:
        try:
            ours(simulator).answer(int(phone), "ru", BotText.READY)
        except UnreachableError as error:
            return error.code
        return ""

    result = []
    for action in ("unshare", "share", "block", "unblock"):
        simulator.do(phone, action)
        result.append(code())

    assert result == ["dialog.not.found", "", "chat.denied", ""]


def updates(receiver: Receiver, phone: str, count: int) -> list[Hook]:
    def fits(hook: Hook) -> bool:
        return hook.path == "/hooks/max-bot" and phone in hook.body.decode()

    return receiver.wait(fits, count)


@pytest.mark.parametrize(
    ("actions", "expected"),
    [
        (["unshare", "start"], [Started]),
        (["share", "stop"], [Started, ContactShared, Stopped]),
        (["stop"], [Started, ContactShared, Stopped]),
        (["share", "block"], [Started, ContactShared, BotBlocked, BotBlocked]),
        (["block", "unblock"], [BotBlocked, BotBlocked, Started]),
    ],
)
def test_actions_of_people_become_updates(
    simulator: Simulator,
    receiver: Receiver,
    phone: str,
    actions: list[str],
    expected: list[type[BotUpdate]],
) -> None:
    for action in actions:
        simulator.do(phone, action)

    hooks = updates(receiver, phone, len(expected))

    result: list[BotUpdate] = []
    for hook in hooks:
        assert hook.headers["x-max-bot-api-secret"] == SECRET
        schema.judge(schema.UPDATE, hook.json)
        result += ours(simulator).parse_webhook(max_call(hook.body, SECRET)).bot_updates
    assert sorted(type(update).__name__ for update in result) == sorted(
        kind.__name__ for kind in expected
    )
    assert {update.chat_id for update in result} == {int(phone)}
    phones = {update.phone for update in result if isinstance(update, ContactShared)}
    assert phones <= {f"+{phone}"}


def test_dropped_subscription_is_renewed(own_simulator: Simulator, own_receiver: Receiver) -> None:
    simulator = own_simulator
    wanted = AccountRequirements(f"{own_receiver.url}/renewed")
    bot = ours(own_simulator)
    lost = {"missing": ["webhook"]}
    requests.put(f"{simulator.url}/missing", json=lost, timeout=5).raise_for_status()
    before = {check.topic for check in bot.checks(wanted) if check.ok is False}

    bot.renew(wanted)

    after = {check.topic for check in bot.checks(wanted) if check.ok is False}
    assert (before, after) == ({"webhook_address"}, set())
    simulator.do("77010000001", "start")
    (hook,) = own_receiver.wait(lambda hook: hook.path == "/renewed")
    assert hook.headers["x-max-bot-api-secret"] == SECRET


@pytest.mark.parametrize(
    ("secret", "status"), [("abcd", 400), ("a b c d e", 400), ("x" * 257, 400), ("A-z_09", 200)]
)
def test_secret_has_the_characters_that_the_schema_allows(
    own_simulator: Simulator, secret: str, status: int
) -> None:
    body = {"url": "https://kvitok.example.com/hooks/max-bot", "secret": secret}

    assert call(own_simulator, "/subscriptions", "POST", json=body)[0] == status
