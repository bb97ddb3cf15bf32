"""A client of Vonage Verify v2, and what it compares."""

from typing import Any

from accounts.models import Company, Mode
from compat.vonage.dialect import DIALECT
from tests.api.clients import ApiResponse
from tests.compat.clients import DialectClient, client_key

TO = "79161234567"
PHONE = "+79161234567"
SMS = {"channel": "sms", "to": TO}
WHATSAPP = {"channel": "whatsapp", "to": TO, "from": "79000000000"}


def client_of(company: Company, mode: str = Mode.TEST, **fields: Any) -> DialectClient:
    return DialectClient(DIALECT, client_key(company, mode=mode, **fields).plaintext)


def start(client: DialectClient, *steps: Any, **more: Any) -> ApiResponse:
    return client.json("/v2/verify", {"brand": "ACME, Inc", "workflow": steps or [SMS]} | more)


def started(client: DialectClient, *steps: Any, **more: Any) -> str:
    response = start(client, *steps, **more)
    assert (response.status, list(response.body)) == (202, ["request_id"]), response.raw
    return str(response.body["request_id"])


def check_code(client: DialectClient, request_id: str, code: Any) -> ApiResponse:
    return client.json(f"/v2/verify/{request_id}", {"code": code})


def check(response: ApiResponse, status: int, title: str, anchor: str = "") -> None:
    """Asserts the problem's type, title and members, as RFC 7807 and Vonage define them."""
    assert (response.status, response.body["title"]) == (status, title)
    assert response.headers["Content-Type"] == "application/problem+json"
    assert response.body.keys() >= {"type", "title", "detail", "instance"}
    assert response.body["type"].endswith(f"/api-errors#{anchor}" if anchor else "")
    assert response.body["detail"]


def faults(response: ApiResponse) -> set[str]:
    check(response, 422, "Invalid params", "invalid-params")
    assert all(fault["reason"] for fault in response.body["invalid_parameters"])
    return {fault["name"] for fault in response.body["invalid_parameters"]}
