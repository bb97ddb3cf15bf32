"""MAX: messages of its bot, and updates of the people who write to it."""

import socket
import ssl
import subprocess
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import orjson
import pytest
import responses

from catalogue.languages import page_languages
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    AmbiguousError,
    Check,
    Outgoing,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.bot import BotText
from channels.providers.max_bot import provider, vendor
from tests.certificates import certificate
from tests.channels.providers.http_responses import http_response
from tests.channels.providers.max import schema
from tests.channels.providers.vendors import (
    CODE,
    MAX_SECRET,
    MAX_TOKEN,
    VENDORS,
    body_of,
    code_with_link,
    link,
    max_bot,
    message,
    payload,
)
from tests.loopback import read_request, server

Wire = responses.RequestsMock
URL = VENDORS["max_bot"].send_url
USER = 7770000001
MID = "mid.00000000058f1f0101a1b2c3d4e5f602"
HOOK = "https://kvitok.example.com/hooks/max-bot"
SUBSCRIPTIONS = "https://max.example.com/subscriptions"
WANTED = AccountRequirements(HOOK)
COPY = {"type": "clipboard", "text": "Скопировать код", "payload": CODE}


def open_button(slug: str) -> dict[str, str]:
    return {"type": "link", "text": "Открыть", "url": f"https://l.example.com/{slug}"}


def body_sent(wire: Wire) -> Any:
    return orjson.loads(body_of(wire.calls[-1].request))


def sent(wire: Wire, outgoing: Outgoing) -> Any:
    wire.post(URL, body=VENDORS["max_bot"].accepted)
    assert max_bot().send(outgoing) == Accepted(MID)
    schema.judge(schema.NEW_MESSAGE, body_sent(wire))
    return body_sent(wire)


@pytest.mark.parametrize(
    ("make", "buttons"),
    [
        (message, [[COPY]]),
        (link, [[open_button("bcdfghjk")]]),
        (code_with_link, [[COPY], [open_button("bcdfghjkmn")]]),
    ],
)
def test_message_has_a_row_for_each_button(
    wire: Wire, make: Callable[..., Outgoing], buttons: list[list[dict[str, str]]]
) -> None:
    outgoing = make()

    body = sent(wire, outgoing)

    keyboard = {"type": "inline_keyboard", "payload": {"buttons": buttons}}
    assert body == {"text": outgoing.text, "attachments": [keyboard]}


def test_message_goes_to_the_person_with_a_bare_token_and_no_preview(wire: Wire) -> None:
    sent(wire, message())

    request = wire.calls[0].request
    assert request.headers["Authorization"] == MAX_TOKEN
    assert parse_qs(urlsplit(str(request.url)).query) == {
        "user_id": [str(USER)],
        "disable_link_preview": ["true"],
    }


@pytest.mark.parametrize("locale", page_languages.translated())
def test_longest_message_keeps_to_the_limits(wire: Wire, locale: str) -> None:
    longest = {
        "text": "ж" * 4000,
        "code": "9" * 15,
        "short_url": "https://l.example.com/" + 64 * "b",
    }

    body = sent(wire, code_with_link(locale=locale, **longest))

    rows = body["attachments"][0]["payload"]["buttons"]
    assert [len(row) for row in rows] == [1, 1]
    # Twenty characters are advised for a button that is alone in its row.
    assert all(len(button["text"]) <= 20 for row in rows for button in row)


@pytest.mark.parametrize("body", [b'{"message":{}}', b'{"message":{"body":null}}'])
def test_acceptance_may_have_no_id(wire: Wire, body: bytes) -> None:
    wire.post(URL, body=body)

    assert max_bot().send(message()) == Accepted(None)


def test_phone_without_a_contact_is_unreachable(wire: Wire) -> None:
    with pytest.raises(UnreachableError) as caught:
        max_bot().send(message(chat_id=None))

    assert caught.value.code == "no_contact"
    assert len(wire.calls) == 0


@pytest.mark.parametrize(
    ("name", "status", "kind", "account"),
    [
        ("error_denied", 403, UnreachableError, False),
        ("error_no_dialog", 404, UnreachableError, False),
        ("error_no_chat", 404, UnreachableError, False),
        ("error_token", 401, RefusedError, True),
        ("error_payload", 400, RefusedError, False),
        ("error_too_many", 429, ThrottledError, True),
        ("error_unavailable", 503, TransientError, False),
        ("error_unavailable", 500, AmbiguousError, False),
        ("error_denied", 502, AmbiguousError, False),
    ],
)
def test_max_error_codes_are_classified(
    wire: Wire, *, name: str, status: int, kind: type[SendError], account: bool
) -> None:
    body = payload("max_bot", f"{name}_2026-11.json")
    wire.post(URL, body=body, status=status)

    with pytest.raises(SendError) as caught:
        max_bot().send(message())

    error = caught.value
    assert (type(error), error.code, error.account) == (kind, orjson.loads(body)["code"], account)
    assert error.detail
    assert "98000001" not in error.detail


def test_throttling_says_how_long_where_max_does(wire: Wire) -> None:
    body = payload("max_bot", "error_too_many_2026-11.json")
    wire.post(URL, body=body, status=429, headers={"Retry-After": "3"})

    with pytest.raises(ThrottledError) as caught:
        max_bot().send(message())

    assert caught.value.retry_after == 3


def test_each_refusal_of_a_chat_has_a_text_and_advice() -> None:
    assert max_bot().gone_codes <= vendor.FAILURES.keys() & vendor.ADVICE.keys()


@pytest.mark.parametrize("word", BotText)
def test_contact_is_requested_by_a_button_that_is_then_removed(wire: Wire, word: BotText) -> None:
    wire.post(URL, body=VENDORS["max_bot"].accepted)

    max_bot().answer(USER, "ru", word)

    body = body_sent(wire)
    schema.judge(schema.NEW_MESSAGE, body)
    button = {"type": "request_contact", "text": "Поделиться номером"}
    keyboard = {"type": "inline_keyboard", "payload": {"buttons": [[button]]}}
    assert body.get("attachments") == ([keyboard] if word is BotText.SHARE else None)


@pytest.mark.parametrize(
    ("username", "url"), [("kvitok_bot", "https://max.ru/kvitok_bot?start=contact"), ("", "")]
)
def test_link_to_the_max_bot_names_it(username: str, url: str) -> None:
    assert max_bot(username=username).contact_url == url


def test_bot_of_another_name_is_not_ours(wire: Wire) -> None:
    wire.get("https://max.example.com/me", json={"user_id": 1, "username": "other_bot"})

    with pytest.raises(RefusedError, match="other_bot") as caught:
        max_bot(username="kvitok_bot").check()

    assert caught.value.account


WHOLE = orjson.loads(payload("max_bot", "subscriptions_2026-11.json"))["subscriptions"][0]


@pytest.mark.parametrize(
    ("subscriptions", "address", "missing"),
    [
        ([WHOLE], Check("webhook_address", True, HOOK), ""),
        ([WHOLE | {"update_types": None}], Check("webhook_address", True, HOOK), ""),
        (
            [WHOLE | {"update_types": ["bot_started"]}],
            Check("webhook_address", True, HOOK),
            "message_created, bot_stopped, dialog_removed",
        ),
        (
            [WHOLE | {"url": "https://other.example.com/"}],
            Check("webhook_address", False, "https://other.example.com/"),
            "",
        ),
        ([], Check("webhook_address", False), ""),
    ],
)
def test_compares_and_renews_the_subscription(
    wire: Wire, subscriptions: list[Any], address: Check, missing: str
) -> None:
    wire.get("https://max.example.com/me", json={"user_id": 1})
    wire.get(SUBSCRIPTIONS, json={"subscriptions": subscriptions})
    is_whole = address.ok and not missing
    if not is_whole:
        wire.post(SUBSCRIPTIONS, json={"success": True})
    bot = max_bot()

    checks = bot.checks(WANTED)
    bot.renew(WANTED)

    fields = Check("webhook_fields", not missing, missing)
    assert checks == [Check("account", True), Check("secret", True), address, fields]
    if not is_whole:
        types = list(provider.READERS)
        schema.judge(schema.SUBSCRIPTION, body_sent(wire))
        assert body_sent(wire) == {"url": HOOK, "secret": MAX_SECRET, "update_types": types}


def test_subscribes_to_nothing_that_it_could_not_read(wire: Wire) -> None:
    wire.get(SUBSCRIPTIONS, json={"subscriptions": []})

    max_bot(secret_token="").renew(WANTED)

    assert len(wire.calls) == 1


def test_refused_subscription_is_an_error(wire: Wire) -> None:
    wire.get(SUBSCRIPTIONS, json={"subscriptions": []})
    wire.post(SUBSCRIPTIONS, json={"success": False, "message": "no https"})

    with pytest.raises(SendError):
        max_bot().renew(WANTED)


def test_setup_command_subscribes_to_events_that_are_read() -> None:
    command = vendor.STEPS[-1].copies[-1].text.format(hook_url=HOOK)
    variables = {"MAX_BOT_TOKEN": "t", "MAX_BOT_SECRET": "s-e_cret", "MAX_BOT_CA_FILE": "ca.pem"}

    script = f'curl() {{ printf "%s\\n" "$@"; }}; {command}'
    shown = subprocess.run(["sh", "-c", script], env=variables, capture_output=True, check=True)

    text = shown.stdout.decode().splitlines()
    body = orjson.loads(text[-1])
    schema.judge(schema.SUBSCRIPTION, body)
    assert body == {"url": HOOK, "secret": "s-e_cret", "update_types": list(provider.READERS)}
    assert {"https://platform-api2.max.ru/subscriptions", "Authorization: t", "ca.pem"} <= {*text}


@pytest.mark.parametrize(
    ("delivered_on", "by_accept", "by_click"),
    [("accept", True, True), ("click", False, True), ("never", False, False)],
)
def test_operator_says_what_counts_as_delivered(
    delivered_on: str, by_accept: bool, by_click: bool
) -> None:
    bot = max_bot(delivered_on=delivered_on)

    assert bot.is_proved_by(message()) is by_accept
    assert bot.capabilities.clicks_prove is by_click


def test_authorities_are_a_file_of_certificates(tmp_path: Path) -> None:
    read = next(option for option in vendor.OPTIONS if option.name == "ca_file").read
    junk = tmp_path / "junk.pem"
    pem = certificate(tmp_path, 30)
    junk.write_text("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n")

    assert [read(""), read(str(pem))] == ["", str(pem)]
    for wrong in (junk, tmp_path / "absent.pem", tmp_path):
        with pytest.raises(ValueError, match="certificates in PEM"):
            read(str(wrong))


def test_authorities_are_trusted_by_the_account(tmp_path: Path) -> None:
    pem = certificate(tmp_path, 30)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(pem)

    def accept(connection: socket.socket) -> None:
        with suppress(OSError), context.wrap_socket(connection, server_side=True) as encrypted:
            read_request(encrypted)
            encrypted.sendall(http_response(VENDORS["max_bot"].accepted))

    with server(accept) as port:
        account = {"api_url": f"https://localhost:{port}", "timeout": (20.0, 20.0)}
        with pytest.raises(TransientError, match="SSLCertVerificationError"):
            max_bot(**account).send(message())
        assert max_bot(**account, ca_file=str(pem)).send(message()) == Accepted(MID)
