"""Reports entered codes to the vendors that ask for it, on the thread that polls vendors.

The ids of the codes wait in Redis, because a process that hosts one account settles the codes of
all accounts and polls no vendor. Each code is reported at most once; a report lost in a crash is
missing only from the vendor's statistics. A custom code is not reported: it is wiped when it is
entered.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple
from uuid import UUID

import redis
import structlog

from channels import sql as channels_sql
from channels.providers.base import AmbiguousError, SendError, TransientError
from channels.vendor_accounts import registry
from otp import codes
from processes.process_state import on_reset
from storage.redis_client import call, call_together
from storage.statements import sql_files
from storage.statements.queries import select

log = structlog.get_logger(__name__)

_ENTERED_AT_VENDORS = sql_files.read("otp/check/entered_codes.sql")
QUEUE = "entered_codes"  # a list of ids
MAX_QUEUED = 10_000
QUEUE_TTL = 600  # seconds
THREADS = 8
# A slow vendor delays the polls of other vendors by at most these seconds and one call. A vendor
# without a response is not called for a minute.
MAX_REPORT_SECONDS = 2.0
SKIPPED_FOR = 60.0

_skipped_until: dict[str, float] = {}  # by account, in `time.monotonic` seconds
on_reset(_skipped_until.clear)


class EnteredCode(NamedTuple):
    """A row of `entered_codes.sql`."""

    verification_id: UUID
    key_id: str
    length: int
    provider: str
    provider_id: str


def enqueue(verification_ids: Sequence[UUID]) -> None:
    """Queues codes to be reported to vendors, after the commit of the settlement. Never fails."""
    if not verification_ids or not registry.wanting_entered_codes():
        return
    try:
        call_together(
            ("RPUSH", QUEUE, *(waiting.hex for waiting in verification_ids)),
            ("LTRIM", QUEUE, -MAX_QUEUED, -1),
            ("EXPIRE", QUEUE, QUEUE_TTL),
        )
    except redis.RedisError as error:
        log.warning("entered_codes_lost", count=len(verification_ids), error=type(error).__name__)


def report() -> int:
    """Reports entered codes to vendors; returns how many reports were accepted.

    Holds no transaction while it waits for vendors.
    """
    accounts = registry.wanting_entered_codes()
    reports = 0
    ends_at = time.monotonic() + MAX_REPORT_SECONDS
    with ThreadPoolExecutor(THREADS, thread_name_prefix="entered-codes") as pool:
        while accounts and time.monotonic() < ends_at and (ids := _pop_waiting()):
            statement = channels_sql.in_changeable_months(_ENTERED_AT_VENDORS)
            entered = select(EnteredCode, statement, [ids, accounts])
            reports += sum(pool.map(_report_one, entered))
    return reports


def _pop_waiting() -> list[UUID]:
    """Takes ids off the list for good, so that no worker reports a code twice."""
    try:
        return [UUID(hexed.decode()) for hexed in call("LPOP", QUEUE, THREADS) or []]
    except redis.RedisError:  # the writer of the list logs that
        return []


def _report_one(entered: EnteredCode) -> bool:
    """Reports a code, on a pool thread; whether the vendor accepted the report.

    No text of the vendor is logged: it may repeat the code.
    """
    name = entered.provider
    if time.monotonic() < _skipped_until.get(name, 0):
        return False
    if entered.key_id not in codes.known_keys():
        return False
    code = codes.derive(entered.verification_id, key_id=entered.key_id, length=entered.length)
    try:
        registry.provider(name).report_entered(entered.provider_id, code)
    except SendError as error:
        log.warning("entered_code_not_reported", provider=name, error=error.code)
        if error.account or isinstance(error, TransientError | AmbiguousError):
            _skipped_until[name] = time.monotonic() + SKIPPED_FOR
        return False
    except Exception as error:
        log.error("entered_code_report_crashed", provider=name, error=type(error).__name__)  # noqa: TRY400
        return False
    return True
