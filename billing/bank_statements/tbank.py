"""T-Bank's statement of an account: https://developer.tbank.ru/docs/api/get-api-v-1-statement"""

from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from django.conf import settings

from billing.bank_statements.lines import StatementLine
from billing.gateways.base import GatewayError
from billing.gateways.http import ProviderApi, pool_by
from config.input.characters import one_line

SOURCE = "tbank"
PAGE = 1000
MOST_PAGES = 1000
MOSCOW = ZoneInfo("Europe/Moscow")  # the day of an operation is the bank's
ROUBLES = {"643", "810"}
CURRENCIES = dict.fromkeys(ROUBLES, "RUB") | {
    "840": "USD",
    "978": "EUR",
    "156": "CNY",
    "398": "KZT",
    "933": "BYN",
}
KOPECK = Decimal("0.01")


def api() -> ProviderApi:
    account = settings.GATEWAY_ACCOUNTS["tbank"]
    bearer = f"Bearer {account['token']}"
    return ProviderApi(account["url"].rstrip("/"), bearer, pool_by(settings.PAYMENT_PROXY))


def operations(
    bank: ProviderApi, *, account: str, since: datetime, until: datetime
) -> Iterator[Mapping[str, Any]]:
    """Booked operations, page by page. Raises GatewayError."""
    cursor = ""
    for _page in range(MOST_PAGES):
        query = {
            "accountNumber": account,
            "operationStatus": "Transaction",
            "from": _time(since),
            "to": _time(until),
            "limit": str(PAGE),
        }
        answer = bank.get(f"/api/v1/statement?{urlencode(query | _after(cursor))}")
        rows = answer.get("operations")
        if not isinstance(rows, list):
            raise GatewayError("malformed answer: no operations")
        yield from (row for row in rows if isinstance(row, dict) and _is_booked(row))
        following = str(answer.get("nextCursor") or "")
        if not following or not rows:
            return
        if following == cursor:
            raise GatewayError("malformed answer: the cursor does not move")
        cursor = following


def line(operation: Mapping[str, Any], account: str) -> StatementLine:
    """Raises ValueError, KeyError, TypeError or ArithmeticError for what it cannot be made of."""
    is_incoming = str(operation["typeOfOperation"]).lower() == "credit"
    party = operation.get("payer" if is_incoming else "receiver") or {}
    other = operation.get("counterParty") or {}
    booked_on = _day(operation["operationDate"])
    code = operation.get("accountCurrencyDigitalCode")
    code = str(code or operation.get("operationCurrencyDigitalCode") or account[5:8])
    amount = operation.get("accountAmount", operation.get("operationAmount"))
    return StatementLine(
        source=SOURCE,
        account=account,
        is_incoming=is_incoming,
        document_number=_text(operation.get("documentNumber"), 30),
        documented_on=_day(operation.get("docDate") or operation["operationDate"]),
        booked_on=booked_on,
        amount=abs(Decimal(str(amount))).quantize(KOPECK),
        currency=CURRENCIES.get(code, code[:3]),
        party_name=_text(party.get("name") or other.get("name"), 200),
        party_inn=_text(party.get("inn") or other.get("inn"), 12),
        party_account=_text(party.get("acct") or party.get("account") or other.get("account"), 34),
        purpose=_text(operation.get("payPurpose") or operation.get("description"), 500),
        operation_id=_text(operation["operationId"], 64),
    )


def _after(cursor: str) -> dict[str, str]:
    return {"cursor": cursor} if cursor else {}


def _is_booked(operation: Mapping[str, Any]) -> bool:
    """An authorisation is no money yet."""
    return str(operation.get("operationStatus") or "Transaction").lower() == "transaction"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _day(text: Any) -> date:
    if len(str(text)) == len("2026-01-31"):
        return date.fromisoformat(str(text))
    return datetime.fromisoformat(str(text)).astimezone(MOSCOW).date()


def _text(value: Any, length: int) -> str:
    return one_line(str(value or ""))[:length]
