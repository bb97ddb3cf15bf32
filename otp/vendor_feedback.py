"""Tells vendors which of their codes were entered right, where they ask for it.

After the settlement of a code, on the thread that polls vendors. Its id waits in Redis: a process
that hosts an account settles the codes of all, and polls nobody. Each is told once at most; what a
crash or an outage loses is missing in the vendor's statistics alone. A company's own code is not
told: it is wiped when it is entered.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from uuid import UUID

import redis
import structlog
from django.db import connection

from channels import sql as channels_sql
from channels.providers.base import AmbiguousError, SendError, TransientError
from channels.vendor_accounts import registry
from otp import codes, sql
from processes.process_state import on_reset
from storage.redis_client import call, call_together
from storage.statements.named_rows import fetch_all

log = structlog.get_logger(__name__)

WAITING = "entered_codes"  # a list of ids
MAX_WAITING, KEPT_FOR = 10_000, 600  # ids; seconds
THREADS = 8
# A slow vendor holds up the polls of others for these seconds and one call, and one that does not
# answer is not called for a minute.
ROUND, LEFT_ALONE_FOR = 2.0, 60.0

_left_alone_until: dict[str, float] = {}  # by account, as time.monotonic
on_reset(_left_alone_until.clear)


class EnteredCode(NamedTuple):
    """A row of `sql.ENTERED_AT_VENDORS`."""

    verification_id: UUID
    key_id: str
    length: int
    provider: str
    provider_id: str


def enqueue(verification_ids: Sequence[UUID]) -> None:
    """Call it after the commit that settled them. Never fails."""
    if not verification_ids or not registry.wanting_entered_codes():
        return
    try:
        call_together(
            ("RPUSH", WAITING, *(waiting.hex for waiting in verification_ids)),
            ("LTRIM", WAITING, -MAX_WAITING, -1),
            ("EXPIRE", WAITING, KEPT_FOR),
        )
    except redis.RedisError as error:
        log.warning("entered_codes_lost", count=len(verification_ids), error=type(error).__name__)


def report_waiting() -> int:
    """Returns how many the vendors took. May wait for vendors, and holds no transaction then."""
    accounts, ends_at, reports = registry.wanting_entered_codes(), time.monotonic() + ROUND, 0
    with ThreadPoolExecutor(THREADS, thread_name_prefix="entered-codes") as pool:
        while accounts and time.monotonic() < ends_at and (ids := _take()):
            reports += sum(pool.map(_report, _find(ids, accounts)))
    return reports


def _find(ids: list[UUID], accounts: list[str]) -> list[EnteredCode]:
    with connection.cursor() as cursor:
        statement = channels_sql.in_changeable_months(sql.ENTERED_AT_VENDORS)
        cursor.execute(statement, [ids, accounts])
        return fetch_all(cursor, EnteredCode)


def _take() -> list[UUID]:
    """Off the list for good: no other worker tells them, nor this one again."""
    try:
        return [UUID(hexed.decode()) for hexed in call("LPOP", WAITING, THREADS) or []]
    except redis.RedisError:  # whoever adds to the list logs that
        return []


def _report(entered: EnteredCode) -> bool:
    """On a pool thread. Logs no text of the vendor's, which may repeat the code."""
    name = entered.provider
    if time.monotonic() < _left_alone_until.get(name, 0):
        return False
    if entered.key_id not in codes.known_keys():
        return False
    code = codes.derive(entered.verification_id, key_id=entered.key_id, length=entered.length)
    try:
        registry.provider(name).report_entered(entered.provider_id, code)
    except SendError as error:
        log.warning("entered_code_not_reported", provider=name, error=error.code)
        if error.account or isinstance(error, TransientError | AmbiguousError):
            _left_alone_until[name] = time.monotonic() + LEFT_ALONE_FOR
        return False
    except Exception as error:
        log.error("entered_code_report_crashed", provider=name, error=type(error).__name__)  # noqa: TRY400
        return False
    return True
