"""Every field of every call: wrong types, wrong ranges, hostile characters."""

from collections.abc import Sequence
from typing import Any

import orjson
import pytest

from api.calls import Call
from api_docs.calls import CALLS
from channels.models import Message
from links.models import Link
from otp.models import Verification
from tests.api.books import books
from tests.api.calling import NEEDS_LIVE_KEY, path_of
from tests.api.clients import Api

PHONE = "+79161234567"
URL = "https://example.com/"
# What makes each call good; every test spoils one field of it.
GOOD: dict[str, dict[str, Any]] = {
    "/otp/send": {
        "phone": PHONE,
        "purpose": "login",
        "channel": "sms",
        "locale": "en",
        "link": URL,
        "link_expires_in": 60,
    },
    "/otp/verify": {"phone": PHONE, "code": "123456", "purpose": "login"},
    "/links/shorten": {"url": URL, "alias": "sale-2026", "expires_in": 60},
    "/links/send": {
        "phone": PHONE,
        "url": URL,
        "channel": "sms",
        "locale": "en",
        "text": "Look: :link",
        "alias": "sale-2026",
        "expires_in": 60,
    },
}
REQUIRED = {
    "/otp/send": ["phone"],
    "/otp/verify": ["phone", "code"],
    "/links/shorten": ["url"],
    "/links/send": ["phone", "url"],
}
NUMBERS = {"link_expires_in", "expires_in"}
FIELDS = [(path, name) for path, fields in GOOD.items() for name in fields]
TEXTS = [(path, name) for path, name in FIELDS if name not in NUMBERS]
LIFETIMES = [(path, name) for path, name in FIELDS if name in NUMBERS]


def accepted(api: Api, path: str, name: str, values: Sequence[object]) -> list[object]:
    """The values of a field that the call does not refuse; it must change nothing."""
    before = books()
    responses = [(value, api.post(path, GOOD[path] | {name: value})) for value in values]
    assert books() == before
    return [
        value
        for value, response in responses
        if response.status != 422 or name not in response.body.get("errors", {})
    ]


@pytest.mark.parametrize(("path", "name"), TEXTS)
def test_text_of_another_type_is_refused(api: Api, path: str, name: str) -> None:
    others: list[Any] = [1, 0, -1.5, True, False, [], [PHONE], {}, {"a": 1}, 2**63, 10**30]

    assert accepted(api, path, name, others) == []


@pytest.mark.parametrize(("path", "name"), LIFETIMES)
def test_number_of_another_type_or_size_is_refused(api: Api, path: str, name: str) -> None:
    longest = 2_592_000 if name == "link_expires_in" else 157_680_000
    others: list[Any] = [
        "60",
        "",
        60.5,
        1e300,
        True,
        [],
        {},
        59,
        0,
        -60,
        longest + 1,
        2**63,
        10**30,
    ]

    assert accepted(api, path, name, others) == []
    assert api.post("/links/shorten", {"url": URL, "expires_in": 157_680_000}).status == 200


@pytest.mark.parametrize(("path", "name"), TEXTS)
def test_control_characters_are_refused_in_every_text_field(api: Api, path: str, name: str) -> None:
    good = GOOD[path][name]
    hostile = ["\0", "\x01", "\x1b[31m", "\x7f"]
    if name not in {"phone", "code"}:  # of which white space and marks are dropped
        hostile += ["\x85", "\u2028", "\u2029"]
    if name not in {"phone", "code", "text"}:
        hostile += ["\n", "\r", "\t", "\u200b", "\u202e"]

    spoiled = [text for char in hostile for text in (char, char + good, good + char)]

    assert accepted(api, path, name, spoiled) == []


@pytest.mark.parametrize(
    ("path", "name"), [(path, name) for path in GOOD for name in REQUIRED[path]]
)
@pytest.mark.parametrize("value", [None, "", "absent"])
def test_absent_required_field_is_named(api: Api, path: str, name: str, value: str | None) -> None:
    payload = GOOD[path] | {name: value}
    if value == "absent":
        del payload[name]

    response = api.post(path, payload)

    assert (response.status, response.code) == (422, "invalid_input")
    alternative = path == "/otp/verify" and name == "phone"
    text = "Укажите phone или id" if alternative else "Обязательное поле"
    assert response.body["errors"] == {name: [text]}


def test_all_invalid_fields_are_reported_together(api: Api) -> None:
    response = api.post("/otp/send", {"purpose": "x" * 65, "channel": "fax", "link_expires_in": 1})

    assert response.body["errors"] == {
        "phone": ["Обязательное поле"],
        "purpose": ["Не длиннее 64 символов"],
        "channel": ["Допустимо: whatsapp, telegram, sms, max"],
        "link_expires_in": ["От 60 до 2592000"],
    }


@pytest.mark.usefixtures("dispatcher", "price_list")
@pytest.mark.parametrize("call", [call for call in CALLS if call.body], ids=lambda call: call.name)
def test_every_call_reports_all_fields_of_a_wrong_type_together(
    api: Api, test_api: Api, call: Call
) -> None:
    caller = api if call.scope in NEEDS_LIVE_KEY else test_api
    path = path_of(caller, call)
    wrong = {field.name: {"a": [1]} for field in call.body}

    response = caller.call(call.method, path, orjson.dumps(wrong))

    assert (response.code, set(response.body["errors"])) == ("invalid_input", set(wrong))


@pytest.mark.usefixtures("dispatcher", "price_list")
@pytest.mark.parametrize("call", [call for call in CALLS if call.query], ids=lambda call: call.name)
def test_every_list_reports_all_wrong_filters_together(api: Api, test_api: Api, call: Call) -> None:
    caller = test_api if call.path.startswith("/test/") else api
    texts = {"phone", "slug", "batch", "cursor", "purpose", "reference"}  # which may be anything
    wrong = {field.name: "?" for field in call.query or () if field.name not in texts}
    needed = {"phone": PHONE} if any(field.required for field in call.query or ()) else {}

    response = caller.get(path_of(caller, call), wrong | needed)

    assert set(response.body.get("errors", {})) == set(wrong)


@pytest.mark.parametrize("lifetime", [60, 2_592_000])
def test_lifetime_without_a_link_makes_none(api: Api, lifetime: int) -> None:
    response = api.post("/otp/send", {"phone": PHONE, "link_expires_in": lifetime})

    assert response.status == 200
    assert not Link.objects.exists()


@pytest.mark.parametrize(
    "purpose", ["a", "x" * 64, "вход в кабинет", "A/b?c=d&e", "👩‍🦰"[0], " ", "'; --"]
)
def test_any_printable_purpose_is_kept_unchanged(api: Api, purpose: str) -> None:
    assert api.post("/otp/send", {"phone": PHONE, "purpose": purpose}).status == 200

    assert Verification.objects.get().purpose == purpose


@pytest.mark.parametrize("channel", ["", "WhatsApp", "whatsapp ", "viber", "test"])
def test_unknown_channel_is_refused(api: Api, channel: str) -> None:
    assert accepted(api, "/otp/send", "channel", [channel]) == []
    assert accepted(api, "/links/send", "channel", [channel]) == []


SHAPES = ["123", "123456789", "12345a", "-12345", "12345-", "+12345", "1234.5", "0x1F", "1e10"]
SHAPES += ["12\n345", "12-----345", "１２３", "½½½½"]


@pytest.mark.parametrize("code", SHAPES)
def test_malformed_code_is_not_checked(api: Api, code: str) -> None:
    api.post("/otp/send", {"phone": PHONE, "purpose": "login"})

    assert accepted(api, "/otp/verify", "code", [code]) == []
    assert Verification.objects.get().attempts == 0


def test_text_of_500_characters_is_the_longest(api: Api) -> None:
    payload = {"phone": PHONE, "url": URL}

    assert api.post("/links/send", payload | {"text": "x" * 500}).status == 200
    assert accepted(api, "/links/send", "text", ["x" * 501]) == []


@pytest.mark.parametrize(
    ("text", "sent"),
    [
        ("две\nстроки", "две\nстроки"),
        ("две\r\nстроки", "две\nстроки"),
        ("a\tb", "a\tb"),
        ("5\u00a0минут", "5 минут"),
        ("👨\u200d👩\u200d👧", "👨\u200d👩\u200d👧"),
        ("ру\u0301с", "ру\u0301с"),
    ],
)
def test_line_breaks_and_joined_characters_of_a_text_are_accepted(
    api: Api, text: str, sent: str
) -> None:
    response = api.post("/links/send", {"phone": PHONE, "url": URL, "text": text})

    assert response.status == 200
    assert Message.objects.get().params["text"] == f"{sent} {response.body['short_url']}"


@pytest.mark.parametrize("key", ["", "x" * 256, "ключ", "a\tb", "\x7f"])
@pytest.mark.parametrize("path", GOOD)
def test_malformed_idempotency_key_is_refused(api: Api, path: str, key: str) -> None:
    response = api.post(path, GOOD[path], Idempotency_Key=key)

    assert (response.status, response.code) == (422, "invalid_input")
    assert list(response.body["errors"]) == ["Idempotency-Key"]
