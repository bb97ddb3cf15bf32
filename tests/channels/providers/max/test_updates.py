"""Whose number a contact proves, and what else people do in a dialog."""

import hashlib
import hmac
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import orjson
import pytest

from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    Started,
    Stopped,
    TextReceived,
)
from channels.providers.max_bot import provider, vendor
from tests.channels.providers.max import schema
from tests.channels.providers.vendors import MAX_TOKEN, PAYLOADS, max_bot, max_call, payload

USER = 7770000001
OWN = ContactShared("+998901234567", USER, "ru", needs_request=True)
VCARD = "BEGIN:VCARD\r\nVERSION:3.0\r\n{0}\r\nEND:VCARD\r\n"
Json = dict[str, Any]


def read(update: Json) -> list[BotUpdate]:
    return list(max_bot().parse_webhook(max_call(orjson.dumps(update))).bot_updates)


def stored(name: str) -> Json:
    body: Json = orjson.loads(payload("max_bot", f"{name}_2026-11.json"))
    return body


def test_subscription_of_the_guide_has_all_that_is_read() -> None:
    assert list(vendor.UPDATE_TYPES) == list(provider.READERS)


@pytest.mark.parametrize("milliseconds", [1_795_000_000_999, "1795000000999", None, -1, True, 1.5])
def test_time_of_an_update_is_the_vendors(milliseconds: object) -> None:
    call = max_call(orjson.dumps(stored("stopped") | {"timestamp": milliseconds}))

    at = max_bot().parse_webhook(call).updated_at

    is_read = milliseconds == 1_795_000_000_999
    assert at == (datetime.fromtimestamp(1_795_000_000, UTC) if is_read else None)


def signed(vcf: str, token: str = MAX_TOKEN) -> str:
    return hmac.new(token.encode(), vcf.encode(), hashlib.sha256).hexdigest()


def card_of(update: Json) -> Json:
    card: Json = update["message"]["body"]["attachments"][0]["payload"]
    return card


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("contact_own", [OWN]),
        ("contact_forwarded", []),
        ("contact_with_another", []),
        ("contact_of_another", []),
        ("contact_in_group", []),
        ("contact_of_a_bot", []),
        ("contact_unsigned", []),
        ("contact_two_numbers", []),
        ("started", [Started(USER, "ru")]),
        ("started_by_link", [Started(USER, "ru")]),
        ("started_by_command", [Started(USER, "ru")]),
        ("stopped", [Stopped(USER, "ru")]),
        ("stopped_in_words", [TextReceived("Стоп", USER, "ru")]),
        ("bot_stopped", [BotBlocked(USER, blocked=True)]),
        ("dialog_removed", [BotBlocked(USER, blocked=True)]),
        ("dialog_muted", []),
    ],
)
def test_max_updates_become_contacts_starts_and_stops(name: str, expected: list[BotUpdate]) -> None:
    assert read(stored(name)) == expected


def change(path: str, value: object) -> Callable[[Json], None]:
    def changed(update: Json) -> None:
        *parents, last = (int(name) if name.isdigit() else name for name in path.split("."))
        container: Any = update
        for name in parents:
            container = container[name]
        container[last] = value

    return changed


CARD = "message.body.attachments.0.payload"


@pytest.mark.parametrize(
    "forge",
    [
        change(f"{CARD}.hash", ""),
        change(f"{CARD}.hash", None),
        change(f"{CARD}.hash", 1),
        change(f"{CARD}.hash", "\udcff".encode("utf-8", "replace").decode()),
        change(f"{CARD}.vcf_info", VCARD.format("TEL;TYPE=cell:998900000000")),
        change(f"{CARD}.vcf_info", None),
        change(f"{CARD}.max_info", None),
        change(f"{CARD}.max_info", {}),
        change(f"{CARD}.max_info.user_id", str(USER)),
        change("message.sender.user_id", USER + 1),
        change("message.sender.is_bot", True),
        change("message.sender", None),
        change("message.recipient.chat_type", "chat"),
        change("message.recipient.chat_type", "channel"),
        change("message.recipient", None),
        change("message.link", {"type": "reply", "message": {}}),
        change("message.link", {}),
        change("message.body.attachments.0.payload", None),
        change("update_type", "message_edited"),
        change("update_type", "message_callback"),
        change("update_type", "WebAppRequestPhone"),
    ],
)
def test_incomplete_card_proves_nothing(forge: Callable[[Json], None]) -> None:
    update = stored("contact_own")

    forge(update)

    assert [event for event in read(update) if isinstance(event, ContactShared)] == []


@pytest.mark.parametrize("other", [None, 1, {"type": "image"}, {"type": "share", "payload": {}}])
@pytest.mark.parametrize("index", [0, 1])
def test_card_beside_another_attachment_proves_nothing(other: object, index: int) -> None:
    update = stored("contact_own")

    update["message"]["body"]["attachments"].insert(index, other)

    assert read(update) == []


@pytest.mark.parametrize("token", ["", "another-bot", MAX_TOKEN.upper()])
def test_card_signed_for_another_bot_proves_nothing(token: str) -> None:
    update = stored("contact_own")
    card = card_of(update)

    card["hash"] = signed(card["vcf_info"], token or "-")

    assert read(update) == []


@pytest.mark.parametrize("alter", [str.upper, lambda hash_: hash_[:-1], lambda hash_: f" {hash_}"])
def test_hash_is_compared_whole(alter: Callable[[str], str]) -> None:
    update = stored("contact_own")
    card = card_of(update)

    card["hash"] = alter(card["hash"])

    assert read(update) == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        ("TEL;TYPE=cell:998901234567", ["+998901234567"]),
        ("TEL:+998 90 123-45-67", ["+998901234567"]),
        ("TEL;VALUE=uri:tel:+998-90-123-45-67", ["+998901234567"]),
        ("TEL;TYPE=cell:998901234567;ext=1", []),
        ("item1.TEL;type=CELL;type=VOICE:998901234567", ["+998901234567"]),
        ("tel;type=cell:998901234567", ["+998901234567"]),
        ("TEL;TYPE=cell:99890\r\n 1234567", ["+998901234567"]),
        ("FN:A\r\nTEL;TYPE=cell:998901234567\r\nTEL;TYPE=cell:998901234567", []),
        ("FN:A\nTEL:998900000000\r\nTEL;TYPE=cell:998901234567", []),
        ("FN:A\r\n TEL:998900000000\r\nTEL;TYPE=cell:998901234567", ["+998901234567"]),
        ("NOTE:TEL;TYPE=cell:998901234567", []),
        ("TEL;TYPE=cell:", []),
        ("TEL;TYPE=cell:12", []),
        (f"TEL;TYPE=cell:{'9' * 16}", []),
        ("TEL;TYPE=cell:٩٩٨٩٠١٢٣٤٥٦٧", []),
        ("", []),
    ],
)
def test_contact_card_must_hold_one_number(lines: str, expected: list[str]) -> None:
    update = stored("contact_own")
    card = card_of(update)
    card["vcf_info"] = VCARD.format(lines)
    card["hash"] = signed(card["vcf_info"])

    result = read(update)

    assert [event.phone for event in result if isinstance(event, ContactShared)] == expected


MAY_BE_ABSENT = [
    ("contact_own", "timestamp"),
    ("contact_own", "message.timestamp"),
    ("contact_own", "message.recipient.chat_id"),
    ("contact_own", "message.recipient.user_id"),
    ("contact_own", "message.body.mid"),
    ("contact_own", "message.body.seq"),
    ("contact_own", "message.sender.is_bot"),
    ("contact_own", "message.sender.first_name"),
    ("contact_own", "user_locale"),
    ("started", "chat_id"),
    ("started", "user_locale"),
    ("started", "user.first_name"),
    ("bot_stopped", "chat_id"),
    ("bot_stopped", "timestamp"),
]


@pytest.mark.parametrize(("name", "path"), MAY_BE_ABSENT)
def test_optional_field_may_be_missing(name: str, path: str) -> None:
    whole = read(stored(name))
    update = stored(name)
    *parents, last = path.split(".")
    container: Any = update
    for parent in parents:
        container = container[parent]

    del container[last]

    assert read(update) == whole


@pytest.mark.parametrize("chat_id", [98000001, -98000001, 2**63 - 1, None, "98000001"])
def test_dialogs_own_id_is_not_read(chat_id: object) -> None:
    update = stored("contact_own")
    update["message"]["recipient"]["chat_id"] = chat_id
    update["something_new"] = {"user_id": 1}

    assert read(update) == [OWN]


@pytest.mark.parametrize("user_id", [2**63, 0, -1, True, 1.5, "7", None])
def test_id_that_max_never_sends_is_ignored(user_id: object) -> None:
    update = stored("started")
    update["user"]["user_id"] = user_id

    assert read(update) == []


@pytest.mark.parametrize(
    ("tag", "locale"),
    [("ru", "ru"), ("ru-RU", "ru"), ("en", "en"), ("kk-KZ", "kk"), ("ja", "en"), (None, "ru")],
)
def test_speaks_the_persons_language(tag: str | None, locale: str) -> None:
    assert read(stored("started") | {"user_locale": tag}) == [Started(USER, locale)]


@pytest.mark.parametrize("value", [None, 1, "x", [], {}, [[]], {"a": 1}])
@pytest.mark.parametrize(
    "path",
    ["message", "message.body", "message.body.attachments", "message.body.attachments.0"],
)
def test_body_of_unexpected_shape_is_ignored(path: str, value: object) -> None:
    update = stored("contact_own")

    change(path, value)(update)

    assert read(update) == []


@pytest.mark.parametrize(
    "name",
    sorted(
        path.name.removesuffix("_2026-11.json")
        for path in (PAYLOADS / "max_bot").glob("*.json")
        if not path.name.startswith(("accepted", "error", "subscriptions", "dialog_muted"))
    ),
)
def test_stored_updates_match_the_published_schema(name: str) -> None:
    schema.judge(schema.UPDATE, stored(name))
