"""Calls of Prelude's clients, as their bodies come."""

from typing import Any

from accounts.models import Company, Mode
from compat.prelude.dialect import DIALECT
from tests.api.clients import ApiResponse
from tests.compat.clients import DialectClient, client_key

PHONE = "+79161234567"
PURPOSE = "login"
ODD: list[Any] = [1, True, [], "x" * 5000, "\u0000", -1, 1e300, ["sms", 1], {"a": {"b": []}}]


def client_of(company: Company, purpose: str = PURPOSE, mode: str = Mode.LIVE) -> DialectClient:
    return DialectClient(DIALECT, client_key(company, purpose, mode=mode).plaintext)


def target(phone: str = PHONE, kind: str = "phone_number") -> dict[str, Any]:
    return {"target": {"type": kind, "value": phone}}


def send(client: DialectClient, phone: str = PHONE, **parts: Any) -> ApiResponse:
    return client.json("/v2/verification", target(phone) | parts)


def check(client: DialectClient, code: str, **more: Any) -> ApiResponse:
    return client.json("/v2/verification/check", target() | {"code": code} | more)


def refusal(response: ApiResponse) -> tuple[int, str]:
    return response.status, response.body["code"]
