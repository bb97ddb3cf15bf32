"""Reads the account's statement at T-Bank every five minutes, and after a webhook from the bank.

`StatementMark` advances only past committed lines, so a line that fails is read again. After a
crash the reading is repeated, and a repeated line changes nothing.
https://developer.tbank.ru/docs/api/get-api-v-1-statement
"""

import re
from collections import Counter
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

import structlog
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.bank_statements import matching
from billing.bank_statements.matching import StatementLine, currency_of, numbered
from billing.gateways.base import CENT, GatewayError
from billing.gateways.http import ProviderApi
from billing.models import StatementMark
from parsing.characters import one_line

_AMOUNT = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")
log = structlog.get_logger(__name__)
JOB = Job("bank_lines", _("lines of the bank's statement"))
READ_INTERVAL = timedelta(minutes=5)
AFTER_FAILURE = timedelta(minutes=1)  # of the bank, or of our process
AFTER_WEBHOOK = timedelta(seconds=5)  # after the last try: webhooks come in bursts
# Banks book some operations late, and change some overnight: these days are read again.
OVERLAP = timedelta(days=3)
FIRST_PERIOD = timedelta(days=30)


def read_due() -> int:
    """Reads the statement if it is due; returns the number of lines read."""
    if not settings.GATEWAY_ACCOUNTS["tbank"]["has_statement"]:
        return 0
    account = settings.GATEWAY_ACCOUNTS["tbank"]["account"]
    StatementMark.objects.get_or_create(account=account)
    now = timezone.now()
    # The claim is committed before the call, so that only one process asks a bank that hangs.
    if not StatementMark.objects.filter(_is_due(now), account=account).update(tried_at=now):
        return 0
    return read(account)


def read(account: str) -> int:
    progress = StatementMark.objects.get(account=account)
    until = timezone.now()
    read_until = progress.read_until or until - FIRST_PERIOD
    unread = Counter[str]()
    count = 0

    def receive(line: StatementLine) -> None:
        nonlocal count
        matching.receive(line)
        count += 1

    try:
        lines = numbered(_readable_lines(account, read_until - OVERLAP, until, unread))
        JOB.each(lines, receive, key=lambda line: line.key)
    except GatewayError as failure:
        log.warning("statement_not_read", error=str(failure))
        StatementMark.objects.filter(account=account).update(error=str(failure)[:200])
        return count
    error = f"operations not understood: {dict(unread)}"[:200] if unread else ""
    if not JOB.is_failing():
        read_until = until
    StatementMark.objects.filter(account=account).update(
        read_until=read_until, read_at=timezone.now(), error=error
    )
    return count


def _readable_lines(
    account: str, since: datetime, until: datetime, unread: Counter[str]
) -> Iterator[StatementLine]:
    """The readable lines; an unreadable line does not hold up the rest."""
    for operation in operations(api(), account=account, since=since, until=until):
        try:
            line = line_of(operation, account)
        except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
            unread[type(error).__name__] += 1
            continue
        if line.amount > 0:
            yield line


def _is_due(now: datetime) -> Q:
    has_webhook = Q(noticed_at__gt=F("tried_at"), tried_at__lt=now - AFTER_WEBHOOK)
    is_unfinished = Q(read_at=None) | Q(read_at__lt=F("tried_at"))
    is_unfinished &= Q(tried_at__lt=now - AFTER_FAILURE)
    return Q(tried_at=None) | Q(tried_at__lt=now - READ_INTERVAL) | has_webhook | is_unfinished


SOURCE = "tbank"
PAGE_SIZE = 1000
MAX_PAGES = 1000
MOSCOW = ZoneInfo("Europe/Moscow")  # the bank's day of an operation


def api() -> ProviderApi:
    account = settings.GATEWAY_ACCOUNTS["tbank"]
    return ProviderApi(account["url"], f"Bearer {account['token']}")


def operations(
    bank: ProviderApi, *, account: str, since: datetime, until: datetime
) -> Iterator[Mapping[str, Any]]:
    """Booked operations, page by page. Raises GatewayError."""
    cursor = ""
    for _page in range(MAX_PAGES):
        query = {
            "accountNumber": account,
            "operationStatus": "Transaction",
            "from": _time(since),
            "to": _time(until),
            "limit": str(PAGE_SIZE),
        } | ({"cursor": cursor} if cursor else {})
        response = bank.get(f"/api/v1/statement?{urlencode(query)}")
        rows = response.get("operations")
        if not isinstance(rows, list):
            raise GatewayError("malformed response: no operations")
        yield from (row for row in rows if isinstance(row, dict) and _is_booked(row))
        following = str(response.get("nextCursor") or "")
        if not following or not rows:
            return
        if following == cursor:
            raise GatewayError("malformed response: the cursor does not move")
        cursor = following


def line_of(operation: Mapping[str, Any], account: str) -> StatementLine:
    """The line of an operation. Raises ValueError, KeyError, TypeError or ArithmeticError if it is
    malformed.
    """
    is_incoming = str(operation["typeOfOperation"]).lower() == "credit"
    party = operation.get("payer" if is_incoming else "receiver") or {}
    other = operation.get("counterParty") or {}
    booked_on = _day(operation["operationDate"])
    code = operation.get("accountCurrencyDigitalCode")
    code = str(code or operation.get("operationCurrencyDigitalCode") or account[5:8])
    written = str(operation.get("accountAmount", operation.get("operationAmount")))
    if not _AMOUNT.fullmatch(written):  # Decimal would read 1_900 and digits of any script
        raise ValueError(written)
    amount = Decimal(written)
    if is_incoming and amount < 0:
        raise ValueError("money that was taken back")
    return StatementLine(
        source=SOURCE,
        account=account,
        is_incoming=is_incoming,
        document_number=_shortened_line(operation.get("documentNumber"), 30),
        documented_on=_day(operation.get("docDate") or operation["operationDate"]),
        booked_on=booked_on,
        amount=abs(amount).quantize(CENT),
        currency=currency_of(code),
        party_name=_shortened_line(party.get("name") or other.get("name"), 200),
        party_inn=_shortened_line(party.get("inn") or other.get("inn"), 12),
        party_account=_shortened_line(
            party.get("acct") or party.get("account") or other.get("account"), 34
        ),
        purpose=_shortened_line(operation.get("payPurpose") or operation.get("description"), 500),
        operation_id=_shortened_line(operation["operationId"], 64),
    )


def _is_booked(operation: Mapping[str, Any]) -> bool:
    """Whether the operation is booked: an authorisation is not money yet."""
    return str(operation.get("operationStatus") or "Transaction").lower() == "transaction"


def _time(at: datetime) -> str:
    return f"{at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"


def _day(text: Any) -> date:
    if len(str(text)) == len("2026-01-31"):
        return date.fromisoformat(str(text))
    at = datetime.fromisoformat(str(text))
    # Times without a zone are in the bank's zone, not the service's.
    return (at.astimezone(MOSCOW) if at.tzinfo else at).date()


def _shortened_line(value: Any, length: int) -> str:
    return one_line(str(value or ""))[:length]
