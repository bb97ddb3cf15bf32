"""Reads the account's statement: each five minutes, and once the bank says that it has news.

The mark moves once every line before it is committed, so a line that fails holds it. A death in
between repeats the reading, and a repeated line changes nothing.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import datetime, timedelta

import structlog
from django.conf import settings
from django.db.models import F, Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from billing.bank_statements import matching, tbank
from billing.bank_statements.lines import StatementLine, numbered
from billing.gateways.base import GatewayError
from billing.models import StatementMark

log = structlog.get_logger(__name__)
JOB = Job("bank_lines", _("lines of the bank's statement"))
EVERY = timedelta(minutes=5)
AFTER_FAILURE = timedelta(minutes=1)  # of the bank, or of our process
AFTER_NOTICE = timedelta(seconds=5)  # since the last try: notices come in bursts
# Banks book some operations late, and change some overnight: those days are read again.
OVERLAP = timedelta(days=3)
FIRST = timedelta(days=30)


def read_due() -> int:
    """Returns how many lines were read; 0 if it is not time yet."""
    if not settings.GATEWAY_ACCOUNTS["tbank"]["has_statement"]:
        return 0
    account = settings.GATEWAY_ACCOUNTS["tbank"]["account"]
    StatementMark.objects.get_or_create(account=account)
    now = timezone.now()
    # The claim is committed before the call, so that a bank that hangs is asked by one process.
    if not StatementMark.objects.filter(_is_due(now), account=account).update(tried_at=now):
        return 0
    return read(account)


def read(account: str) -> int:
    mark = StatementMark.objects.get(account=account)
    until = timezone.now()
    read_until = mark.read_until or until - FIRST
    unread = Counter[str]()
    count = 0

    def receive(line: StatementLine) -> None:
        nonlocal count
        matching.receive(line)
        count += 1

    try:
        lines = numbered(_lines(account, read_until - OVERLAP, until, unread))
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


def _lines(
    account: str, since: datetime, until: datetime, unread: Counter[str]
) -> Iterator[StatementLine]:
    """One that cannot be understood keeps no other from being paid."""
    for operation in tbank.operations(tbank.api(), account=account, since=since, until=until):
        try:
            line = tbank.line(operation, account)
        except (KeyError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
            unread[type(error).__name__] += 1
            continue
        if line.amount > 0:
            yield line


def _is_due(now: datetime) -> Q:
    is_noticed = Q(noticed_at__gt=F("tried_at"), tried_at__lt=now - AFTER_NOTICE)
    is_unfinished = Q(read_at=None) | Q(read_at__lt=F("tried_at"))
    is_unfinished &= Q(tried_at__lt=now - AFTER_FAILURE)
    return Q(tried_at=None) | Q(tried_at__lt=now - EVERY) | is_noticed | is_unfinished
