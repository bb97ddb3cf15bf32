"""Mappings of hooks: which value a path leads to, and which mappings are saved."""

from typing import Any

import orjson
import pytest
from django.core.exceptions import ValidationError

from identity_hooks import mapping
from identity_hooks.hook_call import CallRefusedError, HookCall, NothingToSendError, WantedMessage
from identity_hooks.kind import HookOptions
from identity_hooks.web.forms import MappingField

AT = 1_795_176_000.0


def read(stored: dict[str, Any], payload: dict[str, Any]) -> WantedMessage:
    headers = {"content-type": "application/json"}
    call = HookCall("POST", headers, "", orjson.dumps(payload), AT)
    return mapping.parse_call(stored, call, HookOptions())


@pytest.mark.parametrize(
    ("path", "payload"),
    [
        ("/to", {"to": "+7"}),
        ("to", {"to": "+7"}),
        ("/data/to", {"data": {"to": "+7"}}),
        ("data.to", {"data": {"to": "+7"}}),
        ("/list/1/to", {"list": [{}, {"to": "+7"}]}),
        ("list.1.to", {"list": [{}, {"to": "+7"}]}),
        ("/a~1b/c~0d", {"a/b": {"c~d": "+7"}}),
        ("/a.b", {"a.b": "+7"}),
        ("/to", {"to": ["+7"]}),
    ],
)
def test_path_leads_to_the_value(path: str, payload: dict[str, Any]) -> None:
    assert read({"phone": path, "code": "/code"}, payload | {"code": 561166}).phone == "+7"


@pytest.mark.parametrize("path", ["/list/9", "/list/-1", "/list/x", "/to/deep", "/none", "/"])
def test_path_to_nothing_is_empty(path: str) -> None:
    wanted = read({"phone": path, "code": "/code"}, {"list": [1], "to": "+7", "code": "561166"})

    assert wanted.phone == ""


@pytest.mark.parametrize(
    "stored",
    [
        mapping.DEFAULT,
        {"phone": "/to", "text": "/body"},
        {"phone": "to", "link": "data.url", "only_if": {"/type": "sms"}, "auth": "svix"},
        {"phone": "/to", "code": "/c", "auth": "header:X-Key", "lifetime": 600},
        {"phone": "/to", "code": "/c", "auth": "hmac-sha256:X-Signature", "sent_at": "/at"},
    ],
)
def test_good_mapping_has_no_faults(stored: dict[str, Any]) -> None:
    assert mapping.validation_errors(stored) == []


@pytest.mark.parametrize(
    "stored",
    [
        [],
        "text",
        None,
        {},
        {"phone": "/to"},
        {"code": "/code"},
        {"phone": "", "code": "/code"},
        {"phone": 1, "code": "/code"},
        {"phone": "a..b", "code": "/code"},
        {"phone": "/to\n", "code": "/code"},
        {"phone": "/" + "x" * 300, "code": "/code"},
        {"phone": "/to", "code": "/code", "colour": "red"},
        {"phone": "/to", "code": "/code", "auth": "none"},
        {"phone": "/to", "code": "/code", "auth": "header:"},
        {"phone": "/to", "code": "/code", "auth": "header:X Key"},
        {"phone": "/to", "code": "/code", "auth": ["token"]},
        {"phone": "/to", "code": "/code", "lifetime": 30},
        {"phone": "/to", "code": "/code", "lifetime": "600"},
        {"phone": "/to", "code": "/code", "lifetime": [600]},
        {"phone": "/to", "code": "/code", "lifetime": True},
        {"phone": "/to", "code": "/code", "only_if": []},
        {"phone": "/to", "code": "/code", "only_if": {"/type": {"x": 1}}},
        {"phone": "/to", "code": "/code", "only_if": {"": "x"}},
        {"phone": "/to", "code": "/code", "only_if": {"/type": "a\x00"}},
        {"phone": "/to", "code": "/code", "only_if": {"/type": "\ud800"}},
        {"phone": "/to", "code": "/code", "only_if": {"/type": 2**63}},
    ],
    ids=ascii,
)
def test_bad_mapping_is_not_saved(stored: object) -> None:
    assert mapping.validation_errors(stored)


def test_name_that_no_page_can_show_is_not_json() -> None:
    with pytest.raises(ValidationError) as refused:
        MappingField().clean('{"\\ud800": 1, "phone": "/to", "code": "/code"}')

    assert "".join(refused.value.messages).encode()


@pytest.mark.parametrize("value", ["sms.sent", True, 1, None, ["sms.created"]])
def test_condition_is_a_value_of_the_same_type(value: object) -> None:
    stored = {"phone": "/to", "code": "/code", "only_if": {"/type": "sms.created"}}

    with pytest.raises(NothingToSendError):
        read(stored, {"to": "+7", "code": "561166", "type": value})


@pytest.mark.parametrize(
    "value",
    [
        *(int(AT) * 1000**power for power in range(4)),
        str(int(AT)),
        "2026-11-20T12:00:00Z",
        "2026-11-20T12:00:00+00:00",
        "2026-11-20T12:00:00.000000",
        "2026-11-20 12:00:00",
    ],
)
def test_time_is_read_in_the_usual_spellings(value: object) -> None:
    assert mapping.moment(value) == AT


@pytest.mark.parametrize("value", ["yesterday", None, {}, [1], "", "9" * 400])
def test_time_that_cannot_be_read_is_refused(value: object) -> None:
    with pytest.raises(CallRefusedError):
        mapping.moment(value)
