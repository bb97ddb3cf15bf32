"""The mapping of the generic kind: where each value is in a body, by JSON pointer or dotted path.

`{"phone": "/to", "code": "data.code", "auth": "token", "only_if": {"/type": "sms.created"}}`
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from math import isfinite
from typing import Any
from uuid import uuid4

import orjson
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from catalogue.texts import StrOrPromise
from identity_hooks import signatures
from identity_hooks.hook_call import (
    HookCall,
    NothingToSendError,
    SimulatedCall,
    WantedMessage,
    as_text,
    code_in,
    json_call,
    unreadable,
)
from identity_hooks.kind import HookOptions, Trial
from identity_hooks.signatures import Check, SecretForm
from parsing import integers
from parsing.characters import is_text

PATHS = ("phone", "code", "text", "link", "purpose", "locale", "ip", "sent_at")
CONTENTS = ("code", "text", "link")
NAMES = {*PATHS, "only_if", "auth", "lifetime"}
LIFETIMES = range(60, 901)  # seconds
MAX_PATH = 200  # characters
MAX_CONDITIONS = 10
CHECKS: dict[str, Check] = {
    "token": signatures.token,
    "standard_webhooks": signatures.standard_webhooks(),
    "svix": signatures.standard_webhooks("svix"),
}
MADE_BY_HEADER = {"header": signatures.named_header, "hmac-sha256": signatures.body_hmac}
_HEADER = re.compile(r"[A-Za-z][A-Za-z0-9-]{0,63}")
MIN_MILLISECONDS = 100_000_000_000  # a Unix time as large as this is not in seconds
DEFAULT = {
    "phone": "/phone",
    "code": "/code",
    "text": "/text",
    "link": "/link",
    "purpose": "/purpose",
    "locale": "/locale",
    "ip": "/ip",
    "auth": "token",
}

NOT_AN_OBJECT = _("A JSON object, such as {example}")
UNKNOWN = _("{name} is not a field of a mapping")
NO_PHONE = _("Specify where the phone is: phone")
NO_CONTENT = _("Specify where the code, the text or the link is: code, text or link")
WRONG_PATH = _("{name}: a JSON pointer such as /data/to, or names joined by dots")
WRONG_CONDITIONS = _("only_if: an object of paths and the values that they must have")
WRONG_LIFETIME = _("lifetime: whole seconds, 60 to 900")
WRONG_CHECK = _(
    "auth: token, standard_webhooks, svix, header:<name> or hmac-sha256:<name of the header>"
)


def validation_errors(mapping: object) -> list[StrOrPromise]:
    if not isinstance(mapping, dict):
        return [format_lazy(NOT_AN_OBJECT, example='{"phone": "/to", "code": "/code"}')]
    faults: list[StrOrPromise] = [
        format_lazy(UNKNOWN, name=str(name)[:40]) for name in mapping if name not in NAMES
    ]
    if not mapping.get("phone"):
        faults.append(NO_PHONE)
    if not any(mapping.get(name) for name in CONTENTS):
        faults.append(NO_CONTENT)
    wrong = [name for name in PATHS if name in mapping and not _is_path(mapping[name])]
    faults += [format_lazy(WRONG_PATH, name=name) for name in wrong]
    if not _are_conditions(mapping.get("only_if", {})):
        faults.append(WRONG_CONDITIONS)
    if mapping.get("lifetime", 60) not in LIFETIMES or mapping.get("lifetime") is True:
        faults.append(WRONG_LIFETIME)
    if find_check(mapping.get("auth", "token")) is None:
        faults.append(WRONG_CHECK)
    return faults


def _is_path(path: object) -> bool:
    if not isinstance(path, str) or not 0 < len(path) <= MAX_PATH or not path.isprintable():
        return False
    return path.startswith("/") or all(path.split("."))


def _are_conditions(conditions: object) -> bool:
    return (
        isinstance(conditions, dict)
        and len(conditions) <= MAX_CONDITIONS
        and all(_is_path(path) for path in conditions)
        and all(_is_comparable(value) for value in conditions.values())
    )


def _is_comparable(value: object) -> bool:
    """Whether both the column and a JSON body can contain the value."""
    if isinstance(value, str):
        return is_text(value)
    return value is None or (isinstance(value, int) and abs(value) <= integers.MAX)


def find_check(name: object) -> Check | None:
    if not isinstance(name, str):
        return None
    kind, _colon, header = name.partition(":")
    if kind in MADE_BY_HEADER and _HEADER.fullmatch(header):
        return MADE_BY_HEADER[kind](header.lower())
    return CHECKS.get(name)


def check_of(mapping: Mapping[str, Any]) -> Check:
    return find_check(mapping.get("auth", "token")) or signatures.token


def secrets_of(mapping: Mapping[str, Any]) -> SecretForm:
    has_standard_form = mapping.get("auth") in {"standard_webhooks", "svix"}
    return signatures.STANDARD_WEBHOOKS if has_standard_form else signatures.BEARER


def at_path(payload: object, path: str) -> Any:
    """The value at a JSON pointer (RFC 6901) or a dotted path; None if there is none."""
    value: Any = payload
    for step in steps_of(path):
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list) and step.isascii() and step.isdigit() and len(step) < 6:
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value


def steps_of(path: str) -> list[str]:
    if not path.startswith("/"):
        return path.split(".")
    return [step.replace("~1", "/").replace("~0", "~") for step in path[1:].split("/")]


def parse_call(mapping: Mapping[str, Any], call: HookCall, options: HookOptions) -> WantedMessage:
    """Parses a call; raises NothingToSendError if `only_if` does not match."""
    payload = call.payload
    for path, expected in mapping.get("only_if", {}).items():
        value = at_path(payload, path)
        if type(value) is not type(expected) or value != expected:
            raise NothingToSendError("not_for_us")
    values = {name: at_path(payload, mapping[name]) for name in PATHS if mapping.get(name)}
    texts = {name: as_text(value) for name, value in values.items() if name != "sent_at"}
    if not texts.get("code") and texts.get("text") and not texts.get("link"):
        texts["code"] = code_in(texts["text"], options.code_length)
    if texts.get("code"):
        texts["link"] = ""
    return WantedMessage(
        **texts,
        sent_at=moment(values["sent_at"]) if "sent_at" in values else None,
        lifetime=mapping.get("lifetime"),
    )


def moment(value: object) -> float:
    """Unix seconds from a Unix time in any unit from seconds to nanoseconds, or from ISO 8601.

    The latter is in UTC unless it has a zone.
    """
    try:
        number = float(value)  # type: ignore[arg-type]  # anything else raises
    except (TypeError, ValueError, OverflowError):
        number = _iso(value)
    if not isfinite(number):
        raise unreadable("no_time")
    while number >= MIN_MILLISECONDS:  # or microseconds, or nanoseconds
        number /= 1000
    return number


def _iso(value: object) -> float:
    try:
        at = datetime.fromisoformat(str(value))
        # A naive time would be taken as in our machine's zone.
        return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        raise unreadable("no_time") from None


def simulate(mapping: Mapping[str, Any], trial: Trial) -> SimulatedCall:
    """A call that this mapping can parse."""
    body: dict[str, Any] = {}
    values = {
        "phone": trial.phone,
        "code": trial.code,
        "text": f"Your code is {trial.code}",
        "link": "" if mapping.get("code") or mapping.get("text") else "https://example.com/",
        "sent_at": int(trial.at * 1000),
    }
    for name, value in values.items():
        if mapping.get(name):
            _put(body, mapping[name], value)
    for path, value in mapping.get("only_if", {}).items():
        _put(body, path, value)
    return json_call(body, _headers(mapping.get("auth", "token"), trial, orjson.dumps(body)))


def _put(body: dict[str, Any], path: str, value: object) -> None:
    """Sets the value at the path.

    Creates objects even for lists: `at_path` reads an index as a name too.
    """
    *above, last = steps_of(path)
    parent = body
    for step in above:
        inner = parent.setdefault(step, {})
        if not isinstance(inner, dict):
            return
        parent = inner
    parent[last] = value


def _headers(auth: str, trial: Trial, body: bytes) -> dict[str, str]:
    check, _colon, header = auth.partition(":")
    if check == "header":
        return {header: trial.secret}
    if check == "hmac-sha256":
        return {header: signatures.hex_hmac(trial.secret, body)}
    if check in {"svix", "standard_webhooks"}:
        prefix = "svix" if check == "svix" else "webhook"
        return signatures.standard_headers(
            prefix, trial.secret, f"msg_{uuid4().hex}", trial.at, body
        )
    return {"Authorization": f"Bearer {trial.secret}"}
