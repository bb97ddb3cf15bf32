"""The HTTP client of providers: one connection pool per account, and the errors of failed calls.

Also helpers for vendors' JSON, headers and signatures.
"""

import hashlib
import hmac
import logging
import re
import tomllib
from abc import abstractmethod
from codecs import BOM_UTF8
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from http import HTTPStatus
from pathlib import Path
from typing import Any, ClassVar
from urllib.parse import parse_qsl

import orjson
from urllib3.exceptions import HTTPError

from channels.providers.base import (
    AmbiguousError,
    BarredError,
    Check,
    DestinationRefusedError,
    Outgoing,
    Provider,
    RefusedError,
    SendError,
    ThrottledError,
    TransientError,
    UnreachableError,
)
from channels.providers.inbound import InvalidWebhookError, WebhookRequest
from outbound.connections import Connections, seconds_of_retry

Json = dict[str, Any]
# The error for the message, and whether the account is at fault.
ErrorKind = tuple[type[SendError], bool]
Timeout = tuple[float, float]  # seconds to connect, seconds for the whole response

UNREACHABLE: ErrorKind = (UnreachableError, False)
BARRED: ErrorKind = (BarredError, False)
REFUSED: ErrorKind = (RefusedError, False)
ACCOUNT_REFUSED: ErrorKind = (RefusedError, True)
DESTINATION_REFUSED: ErrorKind = (DestinationRefusedError, True)
TRANSIENT: ErrorKind = (TransientError, False)
ACCOUNT_TRANSIENT: ErrorKind = (TransientError, True)
THROTTLED: ErrorKind = (ThrottledError, False)
ACCOUNT_THROTTLED: ErrorKind = (ThrottledError, True)
AMBIGUOUS: ErrorKind = (AmbiguousError, False)

_ROOT = Path(__file__).resolve().parents[2]
_VERSION = tomllib.loads((_ROOT / "pyproject.toml").read_text())["project"]["version"]

MAX_FORM = 2**16  # bytes; the longest SMS of a person, each letter escaped, takes 15 KB
_HALF_CHARACTER = re.compile(  # one of the two escapes of a character beyond the first 65,536
    rb"(?i)\\ud[89ab][0-9a-f]{2}(?!\\ud[c-f][0-9a-f]{2})"
    rb"|(?<!\\ud[89ab][0-9a-f]{2})\\ud[c-f][0-9a-f]{2}"
)
_NUMBERS = re.compile(r"\d{4,}")  # digits in a vendor's text: one-time codes and phones

logger = logging.getLogger(__name__)


class _Body:
    """A request body that records whether it has been sent."""

    def __init__(self, data: bytes) -> None:
        self.data = data
        self.is_sent = False

    def __iter__(self) -> Iterator[bytes]:
        self.is_sent = True
        yield self.data


@dataclass(frozen=True, slots=True)
class VendorResponse:
    """A response of any status; `data` is empty unless the body was a JSON object, and `rows` is
    None unless it was a list of objects.
    """

    status: int
    data: Json
    retry_after: float | None
    token: str = field(repr=False)
    rows: list[Json] | None = None

    def error(
        self, kind: ErrorKind, code: object, detail: object = "", retry_after: float | None = None
    ) -> SendError:
        error, account = kind
        text = redact(detail, self.token)
        if issubclass(error, ThrottledError):
            wait = self.retry_after if retry_after is None else retry_after
            return error(str(code), text, account=account, retry_after=wait)
        return error(str(code), text, account=account)

    def error_of(
        self, kinds: Mapping[int, ErrorKind], code: object, detail: object = ""
    ) -> SendError:
        """The error from the vendor's table; without a known code, from the HTTP status."""
        if not isinstance(code, int):
            return self.undocumented_error()
        if kind := kinds.get(code):
            return self.error(kind, code, detail)
        return self.undocumented_error(code, detail)

    def undocumented_error(self, code: object = None, detail: object = "") -> SendError:
        """The error for an undocumented response: classified only by its HTTP status."""
        return self.error(_kind_by_status(self.status), code or f"http_{self.status}", detail)


class HttpProvider(Provider):
    """An account reached over HTTP; safe to call from many threads."""

    content_type: ClassVar[str] = "application/json"
    authorization: ClassVar[str] = ""  # template of the header, with `{token}`

    def __init__(
        self, *, api_url: str, token: str, timeout: Timeout = (2.0, 8.0), ca_file: str = ""
    ) -> None:
        if not (token.isascii() and token.isprintable()):
            # The client would refuse it later and quote it in its error.
            raise ValueError(f"the token of {self.name} has characters that no request may carry")
        self._url = api_url.rstrip("/")
        self._token = token
        self._timeout = timeout
        self._ca_file = ca_file
        self._headers = {
            "User-Agent": f"kvitok/{_VERSION}",
            "Accept": "application/json",
            "Content-Type": self.content_type,
        }
        if self.authorization:
            self._headers["Authorization"] = self.authorization.format(token=token)
        self.use_proxy("")

    def use_proxy(self, url: str) -> None:
        """Routes every call through this proxy, or directly if it is empty."""
        self._connections = Connections(self._url, self._timeout, url, ca_file=self._ca_file)

    def _check(self, message: Outgoing) -> None:
        if message.content not in self.capabilities.contents:
            raise RefusedError("unsupported_content", f"{self.name} carries no {message.content}")

    def _post(self, path: str, data: bytes) -> VendorResponse:
        body = _Body(data)
        response, failure = self._attempt("POST", path, body)
        if response is not None:
            return response
        # Before the body is sent nothing can have happened; afterwards anything may have. Raised
        # here so that the caught error, whose text holds the URL, is not its context.
        if body.is_sent:
            raise AmbiguousError("no_answer", failure)
        raise TransientError("no_connection", failure)

    def _poll(self, path: str, data: bytes | None = None) -> Json:
        """Makes a poll; empty without a response: the caller polls again."""
        body = None if data is None else _Body(data)
        response, failure = self._attempt("GET" if body is None else "POST", path, body)
        if response is None:
            logger.warning("%s could not be asked: %s", self.name, failure)
            return {}
        return response.data

    def _query(
        self, path: str, data: bytes | None = None, *, url: str = "", authorization: str = ""
    ) -> VendorResponse:
        """Makes a read-only call; raises TransientError without a response."""
        body = None if data is None else _Body(data)
        method = "GET" if body is None else "POST"
        response, failure = self._attempt(method, path, body, url, authorization)
        if response is None:
            raise TransientError("no_connection", failure)
        # The token of this request must not be quoted: of "id|secret", that is the secret.
        secret = authorization.rpartition("|")[2]
        return replace(response, token=secret) if secret else response

    def _get(self, path: str, *, url: str = "", authorization: str = "") -> Json:
        """Makes a read-only call; returns the object in its response, or raises its error."""
        response = self._query(path, url=url, authorization=authorization)
        if response.status >= 300 or not response.data:
            raise self._refusal(response)
        return response.data

    @abstractmethod
    def _refusal(self, response: VendorResponse) -> SendError:
        """The error of an unsuccessful response, by the vendor's own codes."""

    def _attempt(
        self, method: str, path: str, body: _Body | None, url: str = "", authorization: str = ""
    ) -> tuple[VendorResponse | None, str]:
        headers = self._headers.copy()
        if authorization:
            headers["Authorization"] = authorization
        if body is not None:
            headers["Content-Length"] = str(len(body.data))
        try:
            response = self._connections.request(method, path, headers, body, url=url)
        except HTTPError as error:
            return None, _root_cause(error)
        wait = seconds_of_retry(response.headers.get("Retry-After", ""), datetime.now(UTC))
        data = parse(response.body)
        rows = parse_rows(response.body)
        return VendorResponse(response.status, data, wait, self._token, rows), ""


def _kind_by_status(status: int) -> ErrorKind:
    if status == HTTPStatus.TOO_MANY_REQUESTS:
        return ACCOUNT_THROTTLED
    if status in {408, 425}:  # rejected before any action, by definition
        return TRANSIENT
    if 300 <= status < 500:
        return ACCOUNT_REFUSED if status < 400 or status in {401, 403, 404} else REFUSED
    return AMBIGUOUS


def _root_cause(error: BaseException) -> str:
    """The class name of the root cause. Its text would hold the URL, which may hold a token."""
    at_proxy = False  # found by its name: two libraries have such an error
    while (inner := error.__cause__ or error.__context__) is not None:
        at_proxy = at_proxy or "Proxy" in type(error).__name__
        error = inner
    name = type(error).__name__
    return f"{name} at the proxy" if at_proxy else name


def parse(body: bytes) -> Json:
    """The JSON object, after an optional byte order mark; empty for anything else.

    One truncated character, in a name that a person chose, must not cost the rest of a call.
    """
    body = body.removeprefix(BOM_UTF8)
    try:
        data = orjson.loads(body)
    except orjson.JSONDecodeError:
        try:
            whole = body.decode(errors="replace").encode()
            data = orjson.loads(_HALF_CHARACTER.sub(rb"\\ufffd", whole))
        except orjson.JSONDecodeError:
            return {}
    return data if isinstance(data, dict) else {}


def parse_rows(body: bytes) -> list[Json] | None:
    body = body.removeprefix(BOM_UTF8)
    if not body.lstrip().startswith(b"["):
        return None
    try:
        return objects(orjson.loads(body))
    except orjson.JSONDecodeError:
        return None


def objects(value: object) -> list[Json]:
    """The JSON objects in a value that should be a list of them."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def first(value: object) -> Json:
    return next(iter(objects(value)), {})


def mapping(value: object) -> Json:
    return value if isinstance(value, dict) else {}


def parse_form(body: bytes, *, encoding: str = "utf-8", is_strict: bool = True) -> dict[str, str]:
    """The fields of a form.

    Raises InvalidWebhookError if a name occurs twice, because a signature covers only single
    values, and for a form longer than a vendor sends: anybody may send one, the signed part is
    known only after parsing, and 4 MB would take a process a second.
    """
    if len(body) > MAX_FORM:
        raise InvalidWebhookError("the form is too long")
    try:
        pairs = parse_qsl(
            body.decode(encoding),
            keep_blank_values=True,
            strict_parsing=is_strict,
            encoding=encoding,
            errors="strict",
        )
    except ValueError:
        raise InvalidWebhookError("the body is no form") from None
    if len(fields := dict(pairs)) != len(pairs):
        raise InvalidWebhookError("a form field is given twice")
    return fields


def text(value: object) -> str | None:
    """Reads an id or a code, which vendors send as a string or a number."""
    if isinstance(value, str | int) and not isinstance(value, bool):
        return str(value).replace("\x00", "") or None
    return None


def text_of(value: Json, name: str) -> str:
    """The text under this name; empty without one."""
    return text(value.get(name)) or ""


def upper_of(value: Json, name: str) -> str:
    """The text under this name in capitals; empty without one."""
    return text_of(value, name).upper()


def number(value: object) -> int | None:
    """Reads a whole number, sent as a number or a string."""
    digits = str(value)
    return int(digits) if digits.isascii() and digits.isdecimal() and len(digits) < 12 else None


def is_positive(value: object) -> bool:
    """Whether an amount, sent as a number or a string, is above zero."""
    try:
        return float(str(value)) > 0
    except ValueError:
        return False


def from_timestamp(value: object) -> datetime | None:
    seconds = number(value)
    return None if seconds is None else datetime.fromtimestamp(seconds, UTC)


def from_rfc2822(value: object) -> datetime | None:
    """Parses a time such as "Fri, 14 Aug 2026 10:15:05 +0000"."""
    try:
        at = parsedate_to_datetime(str(value))
    except (ValueError, OverflowError):
        return None
    return at if at.tzinfo else None


def run_check(topic: str, check: Callable[[], Iterable[Check]]) -> list[Check]:
    """Runs a check; without the vendor's response its result is unknown."""
    try:
        return list(check())
    except SendError as error:
        return [Check(topic, None, str(error))]


def redact(value: object, token: str = "") -> str:
    """Shortens a vendor's text and masks a code, phone or token that it may echo."""
    detail = text(value) or ""
    return _NUMBERS.sub("***", detail.replace(token, "***") if token else detail)[:300]


def header(request: WebhookRequest, name: str) -> str:
    """The header; empty if it is absent."""
    return request.headers.get(name, "")


def constant_time_equal(actual: str, expected: str) -> bool:
    """Compares in constant time; tolerates text that is not ASCII."""
    return hmac.compare_digest(actual.encode(errors="replace"), expected.encode(errors="replace"))


def sha256_hmac(key: bytes, signed: bytes) -> str:
    return hmac.digest(key, signed, hashlib.sha256).hex()


def require_signature(request: WebhookRequest, name: str, *expected: str, secret: str) -> None:
    """Raises InvalidWebhookError if no signature matches, and always without a secret, because
    anyone can sign with an empty one.
    """
    received = header(request, name)
    if not (secret and any(constant_time_equal(received, signature) for signature in expected)):
        raise InvalidWebhookError(f"{name} does not match")
