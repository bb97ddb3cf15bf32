"""Settles finished codes: charges proved deliveries and ends the links tied to the codes.

Vendors that ask for it receive reports of entered codes, after the settlement, on the thread that
polls vendors. The ids of the codes wait in Redis, because a process that hosts one account settles
the codes of all accounts and polls no vendor. Each code is reported at most once; a report lost in
a crash is missing only from the vendor's statistics. A custom code is not reported: it is wiped
when it is entered.
"""

import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import NamedTuple
from uuid import UUID

import redis
import structlog
from django.db import DatabaseError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job, not_waiting_sql
from billing.wallet.ledger import DeliveryProof
from catalogue.ids import uuid7
from channels import sql as channels_sql
from channels.lifecycle.snapshots import Decision
from channels.outcomes import transitions
from channels.providers.base import AmbiguousError, SendError, TransientError
from channels.vendor_accounts import registry
from links.manage import changes
from otp import codes, sealed_codes
from processes.process_state import on_reset
from storage.months.recent_ids import months_of, within
from storage.redis_client import call, call_together
from storage.statements import sql_files
from storage.statements.named_rows import fetch_all
from storage.statements.single_statement import fetch_rows
from storage.store_errors import is_refusal
from webhooks import events as outbox

log = structlog.get_logger(__name__)

JOB = Job("settlement", _("settlement of entered codes"), given_up_delay=timedelta(hours=1))
BATCH = 200
_SQL = sql_files.read_several(
    "otp/check/settlement.sql",
    is_not_waiting=not_waiting_sql("settlement", "otp_verification.id::text"),
    iso_verified_at=outbox.iso_sql("verified_at"),
)
_EVENTS = outbox.append_sql(_SQL["verified_event"], has_callback=True)
_SETTLE_VERIFIED = f"{_SQL['settle_verified']}, {_EVENTS}"
_SETTLE_FINISHED = sql_files.fill(
    sql_files.read("otp/check/settle_finished.sql"), has_subscribers=outbox.has_endpoint_sql("v")
)


class Settled(NamedTuple):
    """The row of `settle_finished.sql`."""

    settled: list[UUID]
    due: int  # rows read, including those left to the caller


def settle_verified() -> int:
    """Settles correct codes and returns how many. Most were entered after their delivery receipt,
    and a single statement settles these.
    """
    with connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(_SQL["has_unsettled"]))
        has_verified, has_ended_early, has_expired_codes = cursor.fetchone()
    if has_expired_codes:
        sealed_codes.wipe_expired()
    if has_ended_early:
        settle_ended_early()
    if not has_verified:
        return 0
    finished = settle_finished()
    _enqueue_entered(finished.settled)
    if len(finished.settled) == finished.due:
        return finished.due
    return len(finished.settled) + prove_delivery()


def settle_finished() -> Settled:
    """Settles correct codes whose messages have ended, if no link has to end and no webhook is to
    be sent.
    """
    (row,) = fetch_rows(channels_sql.in_changeable_months(_SETTLE_FINISHED), [BATCH], Settled)
    return row


def prove_delivery() -> int:
    """Charges one delivery for each correct code: the cheapest open message of its verification.

    Also stops the fallback of the code and ends the links that expire with it.
    """
    try:
        return _prove(_SQL["claim_verified"], BATCH)
    except DatabaseError as error:
        if not is_refusal(error):
            raise
    # One code that cannot be settled, because of its company's wallet for example, must not hold up
    # the rest.
    ids = _unsettled()
    JOB.write_batch(ids, lambda these: _prove(_SQL["claim_these"], list(these)))
    return len(ids)


def _unsettled() -> list[UUID]:
    with connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(_SQL["unsettled"]), [BATCH])
        return [verification_id for verification_id, _has_failed in cursor.fetchall()]


def _prove(claim: str, limit_or_ids: int | list[UUID]) -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(claim), [limit_or_ids])
        claimed = cursor.fetchall()
        if not claimed:
            return 0
        ids = [verification_id for verification_id, _has_failed in claimed]
        changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
        decisions = transitions.prove(
            cursor, [(verification_id, None) for verification_id in ids], DeliveryProof.CODE_ENTERED
        )
        event_ids = [uuid7() for _one in ids]
        cursor.execute(within(_SETTLE_VERIFIED, months_of(ids)), [ids, event_ids])
        outbox.wake_dispatcher(cursor.rowcount)
    transitions.announce(decisions)
    _enqueue_entered(ids)
    for verification_id, has_failed in claimed:
        if has_failed:
            JOB.succeeded(verification_id)
    return len(ids)


def settle_ended_early() -> int:
    """Settles codes that were superseded or ran out of attempts before they expired."""
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(channels_sql.in_changeable_months(_SQL["settle_ended_early"]), [BATCH])
        ids = [verification_id for (verification_id,) in cursor.fetchall()]
        decisions = end_links_and_messages(cursor, ids)
    transitions.announce(decisions)
    return len(ids)


def end_links_and_messages(cursor: CursorWrapper, ids: Sequence[UUID]) -> list[Decision]:
    """Ends the links of these codes and their messages that are not sent yet."""
    changes.disable_with_codes(cursor, ids)  # links are locked before messages everywhere
    return transitions.cancel(cursor, ids)


QUEUE = "entered_codes"  # a list of ids
MAX_QUEUED, QUEUE_TTL = 10_000, 600  # ids; seconds
THREADS = 8
# A slow vendor delays the polls of other vendors by at most these seconds and one call. A vendor
# that does not answer is not called for a minute.
MAX_REPORT_SECONDS, SKIPPED_FOR = 2.0, 60.0

_skipped_until: dict[str, float] = {}  # by account, in `time.monotonic` seconds
on_reset(_skipped_until.clear)


class EnteredCode(NamedTuple):
    """A row of `entered_at_vendors`."""

    verification_id: UUID
    key_id: str
    length: int
    provider: str
    provider_id: str


def _enqueue_entered(verification_ids: Sequence[UUID]) -> None:
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


def report_entered() -> int:
    """Reports entered codes to vendors; returns how many reports were accepted. Holds no
    transaction while it waits for vendors.
    """
    accounts, ends_at, reports = (
        registry.wanting_entered_codes(),
        time.monotonic() + MAX_REPORT_SECONDS,
        0,
    )
    with ThreadPoolExecutor(THREADS, thread_name_prefix="entered-codes") as pool:
        while accounts and time.monotonic() < ends_at and (ids := _pop_waiting()):
            reports += sum(pool.map(_report, _read_entered(ids, accounts)))
    return reports


def _read_entered(ids: list[UUID], accounts: list[str]) -> list[EnteredCode]:
    with connection.cursor() as cursor:
        statement = channels_sql.in_changeable_months(_SQL["entered_at_vendors"])
        cursor.execute(statement, [ids, accounts])
        return fetch_all(cursor, EnteredCode)


def _pop_waiting() -> list[UUID]:
    """Takes ids off the list for good, so that no worker reports a code twice."""
    try:
        return [UUID(hexed.decode()) for hexed in call("LPOP", QUEUE, THREADS) or []]
    except redis.RedisError:  # the writer of the list logs that
        return []


def _report(entered: EnteredCode) -> bool:
    """Runs on a pool thread. Logs no vendor text, which may repeat the code."""
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
