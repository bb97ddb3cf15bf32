"""A call of an identity server, and the message parsed from it."""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any
from urllib.parse import parse_qsl

import orjson

from catalogue import custom_codes
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from parsing import clipboard

FORM = "application/x-www-form-urlencoded"
MAX_FIELDS = 100  # of a form or query string
# A phone whose server did not encode its plus, which is decoded as a space.
_LOST_PLUS = re.compile(r"\A (?=[0-9]{8,15}\Z)")


class CallRefusedError(DomainError):
    """A refused call; `reason` is shown only in the company's request log."""

    def __init__(self, reason: str, error: Error, message: StrOrPromise | None = None) -> None:
        super().__init__(error, message=message)
        self.reason = reason


class NothingToSendError(Exception):
    """A valid call that needs no message; `reason` says why."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True)
class HookCall:
    """A server's call. Header names are in lower case; `at` is its arrival in Unix seconds."""

    method: str
    headers: Mapping[str, str]
    query: str
    body: bytes
    at: float
    ip: str = ""  # of the server
    path_secret: str = ""

    @cached_property
    def payload(self) -> Mapping[str, Any]:
        """The fields of the JSON object or the form; without a body, of the query string."""
        if not self.body:
            return _pairs(self.query)
        content_type = self.headers.get("content-type", "").partition(";")[0].strip().lower()
        if content_type == FORM:
            return _pairs(self._decoded_body())
        if content_type not in {"application/json", ""} and not content_type.endswith("+json"):
            raise CallRefusedError("wrong_type", Error.UNSUPPORTED_MEDIA_TYPE)
        if self.headers.get("content-encoding", "identity").strip().lower() != "identity":
            raise CallRefusedError("wrong_type", Error.UNSUPPORTED_MEDIA_TYPE)
        try:
            payload = orjson.loads(self.body.removeprefix(b"\xef\xbb\xbf"))
        except orjson.JSONDecodeError:
            raise unreadable("not_json") from None
        if not isinstance(payload, dict):
            raise unreadable("not_json")
        return payload

    def _decoded_body(self) -> str:
        try:
            return self.body.decode()
        except UnicodeDecodeError:
            raise unreadable("not_a_form") from None

    def text(self, *path: str) -> str:
        """The string or number at the path in the payload; empty if there is none."""
        value: Any = self.payload
        for name in path:
            value = value.get(name) if isinstance(value, Mapping) else None
        return as_text(value)


def as_text(value: object) -> str:
    """A string or number as text, even as the only item of a list; empty for other values."""
    if isinstance(value, list) and len(value) == 1:
        value = value[0]
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)


def _pairs(text: str) -> dict[str, str]:
    try:
        pairs = parse_qsl(text, keep_blank_values=True, max_num_fields=MAX_FIELDS)
    except ValueError:
        raise unreadable("not_a_form") from None
    return {name: _LOST_PLUS.sub("+", value) for name, value in pairs}


def unreadable(reason: str) -> CallRefusedError:
    return CallRefusedError(reason, Error.INVALID_INPUT)


@dataclass(frozen=True, slots=True, kw_only=True)
class WantedMessage:
    """The message that a server asks for: a code, a sentence that contains one, or a link."""

    phone: str
    code: str = ""
    text: str = ""
    link: str = ""
    purpose: str = ""
    locale: str = ""  # BCP 47
    ip: str = ""  # of the person
    sent_at: float | None = None  # Unix seconds
    lifetime: float | None = None  # seconds until the server's own code expires


@dataclass(frozen=True, slots=True, kw_only=True)
class SimulatedCall:
    """A call like the server's, for the button *Try it*, the tests and the demo."""

    headers: Mapping[str, str] = field(default_factory=dict)
    body: bytes = b""
    method: str = "POST"
    query: str = ""


def json_call(payload: Mapping[str, Any], headers: Mapping[str, str]) -> SimulatedCall:
    return SimulatedCall(
        body=orjson.dumps(payload), headers={"Content-Type": "application/json", **headers}
    )


# The last line of an SMS, which browsers parse: `@example.com #123456`
# (https://wicg.github.io/sms-one-time-codes/).
_WEB_OTP = re.compile(rf"^@[\w.-]+ #({custom_codes.PATTERN})(?:\s|$)", re.MULTILINE)
_BEFORE = r"(?<![0-9A-Za-z+.,/-])(?<![0-9]:)"
_AFTER = r"(?![0-9A-Za-z]|[.,:/-][0-9])"
_DIGITS = re.compile(rf"{_BEFORE}[0-9]+{_AFTER}")
# A code in groups, `123 456` or `1234-5678`, which is neither the end of a phone nor a date.
_GROUPS = re.compile(
    rf"{_BEFORE}(?<![0-9)] )"
    r"(?:[0-9]{2,5}(?: [0-9]{2,5})+(?! [0-9])|[0-9]{3,5}-[0-9]{3,5})"
    rf"{_AFTER}"
)


def code_in(text: str, length: int) -> str:
    """The code of the text's Web OTP line, or the text's only number of `length` digits.

    Digits may be of any script, and in groups. Raises CallRefusedError for none or several.
    """
    if marked := _WEB_OTP.findall(text):
        return str(marked[-1])
    pieces = clipboard.plain_characters(text).split()
    sentence = " ".join(word for word in pieces if not _is_address(word))
    numbers = [*_DIGITS.findall(sentence), *map(clipboard.code, _GROUPS.findall(sentence))]
    candidates: set[str] = {digits for digits in numbers if len(digits) == length}
    if len(candidates) > 1:
        raise unreadable("two_codes_in_text")
    if not candidates:
        raise unreadable("no_code_in_text")
    return candidates.pop()


def _is_address(word: str) -> bool:
    """Whether the word is a URL, with or without a scheme: its digits are not a code."""
    host, slash, _path = word.partition("/")
    return bool(slash) and ("://" in word or "." in host)
