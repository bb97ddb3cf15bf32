"""ClickHouse over its HTTP interface; errors say whether a retry may succeed.

The address is `https://user:password@host:8443/database`, or plain http.

Our SQL works in version 18.16, which Debian 12 has, and in current ones. So statements have no
query parameters (new in 19.14), and tables no TTL (new in 19.6).
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import unquote, urlsplit

import orjson
import requests
from django.conf import settings
from django.core.exceptions import ImproperlyConfigured
from requests.auth import HTTPBasicAuth

# In seconds.
CONNECT_TIMEOUT = 2.0
WRITE_TIMEOUT = 30.0
READ_TIMEOUT = 3.0

# `Code: 27, e.displayText() = DB::Exception: …` in 18.16, `Code: 27. DB::Exception: …` since 21.
_ERROR = re.compile(
    r"Code: (\d+)[.,](?: e\.displayText\(\) =)? (?:DB::Exception: )?(.*)", re.DOTALL
)
_MAX_DETAIL = 300
# Errors that a retry with the same rows would repeat; codes from ClickHouse's ErrorCodes.cpp.
_MEMORY_LIMIT_EXCEEDED = 241
_REJECTIONS = frozenset(
    {
        6,  # CANNOT_PARSE_TEXT
        25,  # CANNOT_PARSE_ESCAPE_SEQUENCE
        26,  # CANNOT_PARSE_QUOTED_STRING
        27,  # CANNOT_PARSE_INPUT_ASSERTION_FAILED
        53,  # TYPE_MISMATCH
        69,  # ARGUMENT_OUT_OF_BOUND
        70,  # CANNOT_CONVERT_TYPE
        72,  # CANNOT_PARSE_NUMBER
        117,  # INCORRECT_DATA
        131,  # TOO_LARGE_STRING_SIZE
        349,  # CANNOT_INSERT_NULL_IN_ORDINARY_COLUMN
        376,  # CANNOT_PARSE_UUID
    }
)

_PORTS = {"http": 8123, "https": 8443}
_SHAPE = "CLICKHOUSE_URL must be https://user:password@host:8443/database, or http"


@dataclass(frozen=True)
class Address:
    url: str  # without user, password and database
    user: str
    password: str = field(repr=False)
    database: str


def parse_address(text: str) -> Address:
    """The parts of an address; raises ImproperlyConfigured, which does not quote its password."""
    try:
        parts = urlsplit(text)
        port = parts.port or _PORTS[parts.scheme]
    except (ValueError, LookupError):
        raise ImproperlyConfigured(_SHAPE) from None
    if not parts.hostname or parts.query or parts.fragment or "/" in parts.path[1:]:
        raise ImproperlyConfigured(_SHAPE)
    host = f"[{parts.hostname}]" if ":" in parts.hostname else parts.hostname
    return Address(
        url=f"{parts.scheme}://{host}:{port}/",
        user=unquote(parts.username or "default"),
        password=unquote(parts.password or ""),
        database=unquote(parts.path[1:]) or "default",
    )


class ClickHouseError(Exception):
    """An error whose text contains the server's error, never the password."""


class UnavailableError(ClickHouseError):
    """The server is down, overloaded or not set up: the same call may succeed later."""


class RejectedError(ClickHouseError):
    """The server refuses these rows."""


class NoMemoryError(RejectedError):
    """The server has no memory for these rows: fewer may fit. If one does not, it is overloaded."""


def is_configured() -> bool:
    return bool(settings.CLICKHOUSE_URL)


def execute(statement: str) -> None:
    _post({}, statement.encode(), WRITE_TIMEOUT)


def insert(table: str, lines: bytes) -> None:
    """Inserts rows, a JSON object per line; returns when the server has written all of them."""
    _post({"query": f"INSERT INTO {table} FORMAT JSONEachRow"}, lines, WRITE_TIMEOUT)


def read(query: str) -> list[dict[str, Any]]:
    """The rows of a query; 64-bit integers may come as strings."""
    # Without `wait_end_of_query` an error after the first rows would be inside a 200 response.
    options = {"wait_end_of_query": "1", "max_execution_time": str(int(READ_TIMEOUT))}
    body = _post(options, f"{query} FORMAT JSONEachRow".encode(), READ_TIMEOUT)
    try:
        return [orjson.loads(line) for line in body.splitlines() if line]
    except ValueError:  # a page of a proxy, with status 200
        raise UnavailableError("the response is not JSON") from None


def _post(options: Mapping[str, str], body: bytes, timeout: float) -> bytes:
    address = parse_address(settings.CLICKHOUSE_URL)
    try:
        with requests.Session() as session:
            session.trust_env = False  # neither a proxy nor a password from the environment
            response = session.post(
                address.url,
                params={"database": address.database, **options},
                data=body,
                auth=HTTPBasicAuth(address.user.encode(), address.password.encode()),
                timeout=(CONNECT_TIMEOUT, timeout),
                verify=settings.CLICKHOUSE_CA or True,
                allow_redirects=False,
            )
    except (requests.RequestException, OSError) as error:
        raise UnavailableError(type(error).__name__) from error
    if response.status_code != requests.codes.ok:
        raise _error(response.status_code, response.text)
    return response.content


def _error(status: int, text: str) -> ClickHouseError:
    match = _ERROR.match(text)
    if not match:  # an error page of a proxy
        return UnavailableError(f"status {status}")
    code = int(match[1])
    detail = f"code {code}: {match[2].strip()[:_MAX_DETAIL]}"
    if code == _MEMORY_LIMIT_EXCEEDED:
        return NoMemoryError(detail)
    return RejectedError(detail) if code in _REJECTIONS else UnavailableError(detail)
