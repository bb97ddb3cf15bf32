"""A client of Vonage Verify v2, and what it compares."""

from typing import Any

from accounts.models import Company, Mode
from compat.vonage.dialect import DIALECT
from tests.api.clients import Answer
from tests.compat.clients import DialectClient, client_key

TO = "79161234567"
PHONE = "+79161234567"
SMS = {"channel": "sms", "to": TO}
WHATSAPP = {"channel": "whatsapp", "to": TO, "from": "79000000000"}


def client_of(company: Company, mode: str = Mode.TEST, **fields: Any) -> DialectClient:
    return DialectClient(DIALECT, client_key(company, mode=mode, **fields).plaintext)


def start(client: DialectClient, *steps: Any, **more: Any) -> Answer:
    return client.json("/v2/verify", {"brand": "ACME, Inc", "workflow": steps or [SMS]} | more)


def started(client: DialectClient, *steps: Any, **more: Any) -> str:
    answer = start(client, *steps, **more)
    assert (answer.status, list(answer.body)) == (202, ["request_id"]), answer.raw
    return str(answer.body["request_id"])


def check_code(client: DialectClient, request_id: str, code: Any) -> Answer:
    return client.json(f"/v2/verify/{request_id}", {"code": code})


def check(answer: Answer, status: int, title: str, anchor: str = "") -> None:
    """Asserts the problem's type, title and members, as RFC 7807 and Vonage define them."""
    assert (answer.status, answer.body["title"]) == (status, title)
    assert answer.headers["Content-Type"] == "application/problem+json"
    assert answer.body.keys() >= {"type", "title", "detail", "instance"}
    assert answer.body["type"].endswith(f"/api-errors#{anchor}" if anchor else "")
    assert answer.body["detail"]


def faults(answer: Answer) -> set[str]:
    check(answer, 422, "Invalid params", "invalid-params")
    assert all(fault["reason"] for fault in answer.body["invalid_parameters"])
    return {fault["name"] for fault in answer.body["invalid_parameters"]}
