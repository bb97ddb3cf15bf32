"""Calls of payment providers: bounded in time and number, never redirected or repeated.

Plain HTTP instead of the providers' libraries: these hold their credentials in process-wide state,
and only four calls of each are used. T-Bank has none for Python.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from django.conf import settings
from urllib3.exceptions import HTTPError

from billing.gateways.base import GatewayError
from outbound.connections import Connections
from parsing.json_objects import read_object
from storage.sessions import release_connection

TIMEOUT = (3.0, 8.0)  # seconds to connect, seconds for the whole response
# Per provider and process: a provider that hangs must leave the other threads to codes and links.
MAX_CALLS = 8


class RefusedByProviderError(GatewayError):
    """The provider refused the call itself; a repeat would be refused, too."""

    def __init__(self, status: int, detail: str, kind: str = "") -> None:
        super().__init__(f"{status} {detail}")
        self.status = status
        self.kind = kind  # Stripe's `error.type`


class ProviderApi:
    def __init__(self, url: str, authorization: str) -> None:
        self._authorization = authorization
        self.connections = Connections(url.rstrip("/"), TIMEOUT, settings.PAYMENT_PROXY, MAX_CALLS)

    def get(self, path: str) -> dict[str, Any]:
        return self._call("GET", path, {}, None)

    def post(self, path: str, body: bytes, headers: Mapping[str, str]) -> dict[str, Any]:
        return self._call("POST", path, headers, body)

    def _call(
        self, method: str, path: str, headers: Mapping[str, str], body: bytes | None
    ) -> dict[str, Any]:
        """The JSON object of a success; raises a GatewayError, whose text has no credential."""
        sent_headers = {
            "Authorization": self._authorization,
            "Accept": "application/json",
            **headers,
        }
        release_connection()
        try:
            response = self.connections.request(method, path, sent_headers, body)
        except HTTPError as error:
            raise GatewayError(type(error).__name__) from None
        parsed = _object(response.body)
        if response.status in {200, 201} and parsed is not None:
            return parsed
        if 400 <= response.status < 500 and response.status not in {408, 409, 429}:
            raise RefusedByProviderError(response.status, _reason(parsed), _error_type(parsed))
        raise GatewayError(f"status {response.status}")


@contextmanager
def parsing_response() -> Iterator[None]:
    """Turns a missing or malformed field into a GatewayError."""
    try:
        yield
    except (KeyError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
        raise GatewayError(f"malformed response: {type(error).__name__}") from None


def _object(raw: bytes) -> dict[str, Any] | None:
    try:
        return read_object(raw)
    except ValueError:
        return None


def _error_type(parsed: dict[str, Any] | None) -> str:
    error = (parsed or {}).get("error")
    return str(error.get("type") or "") if isinstance(error, dict) else ""


def _reason(parsed: dict[str, Any] | None) -> str:
    """Stripe's `error.message`, YooKassa's `description`, T-Bank's `errorMessage`."""
    body = parsed or {}
    error = body.get("error")
    text = error.get("message") if isinstance(error, dict) else body.get("description")
    return str(text or body.get("errorMessage") or "")[:200]
