"""Rate limits of sends to one phone, checked before anything is spent.

Redis counts; without Redis, Postgres counts the messages themselves. Accepted sends count; a
refused or failed send is released, so that another channel can be tried.

All companies share a phone's pool of codes and its pool of links. A pool refills evenly, so nobody
waits longer than one send takes to refill; each company's first sends of a day may draw on a
reserve, so that other companies cannot block them.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from math import ceil
from typing import NamedTuple, Protocol
from uuid import UUID

import structlog
from django.conf import settings
from django.db import IntegrityError, InterfaceError, OperationalError, connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils.translation import gettext_lazy as _
from psycopg import errors
from redis.exceptions import RedisError

from accounts.keys.principal import NO_LIMITS, CompanyLimits
from catalogue.errors import DomainError, Error
from channels.lifecycle.snapshots import MessageState
from channels.models import Message
from storage import advisory_locks, atomic_limits
from storage.atomic_limits import Bucket, LimiterDownError, LimitResult, Pool, Window, hashed
from storage.postgres_limits import PoolUse, pool_wait
from storage.primary_connection import NotPrimaryError
from storage.redis_client import redis_client
from storage.statements import sql_files

log = structlog.get_logger(__name__)

SHARED_POOL_EMPTY = _("This number gets too many messages from different senders; try again later")

EachTry = Callable[[], AbstractContextManager[object]]
REFUSED_BY_COOL_DOWN = {atomic_limits.COOLING_DOWN, atomic_limits.DUPLICATE}


@dataclass(frozen=True, slots=True)
class Send:
    id: UUID
    company_id: int
    mode: str
    kind: str
    phone: str
    company_limits: CompanyLimits = NO_LIMITS


CountedMessage = Send | Message | MessageState


class UntriedChannel(Protocol):
    """Decides whether to send a live code by an untried channel, despite the cool-down."""

    @property
    def is_required(self) -> bool:
        """Whether to send only if the channel is untried, even after the cool-down."""

    def is_untried(self) -> bool: ...

    @property
    def key(self) -> str:
        """Identifies the code and the channel; set once `is_untried` returned true."""

    def lock_untried(self) -> bool:
        """Whether the channel is untried; it stays so until the send's transaction ends."""


@contextmanager
def acquire(
    send: Send, *, key_hash: str = "", untried: UntriedChannel | None = None
) -> Iterator[EachTry]:
    """Counts this send while it is accepted, or raises `resend_too_soon` or `send_limit`.

    A refusal inside releases the send, because nothing was sent. An error that leaves the commit
    unknown releases it only under an Idempotency-Key, by which the database detects a repeat:
    without a key the message may have been sent. `key_hash` is the hash of that key: a repeat gets
    `request_in_progress` while the first send runs. Yields a function: wrap each try of the
    statement in the context manager that it returns.
    """
    try:
        acquired = _acquire(send, key_hash, untried)
    except LimiterDownError:
        with _counted_in_postgres(send, untried):
            yield transaction.atomic  # without it, a failed try would end the transaction
        return
    _raise_if_refused(acquired.result)
    try:
        yield acquired.each_try
    except Exception as error:
        if nothing_was_written(error) or (key_hash and not isinstance(error, IntegrityError)):
            key = acquired.key
            holder = f"{send.id.hex}:"
            atomic_limits.release(_windows(send), cool_down=key, holder=holder, pool=_pool(send))
        raise


class _Acquisition(NamedTuple):
    result: LimitResult
    key: str  # key of the cool-down
    each_try: EachTry = nullcontext


def _acquire(send: Send, key_hash: str, untried: UntriedChannel | None) -> _Acquisition:
    if untried is not None and untried.is_required:
        return _acquire_untried(send, untried, LimitResult(atomic_limits.COOLING_DOWN, 1))
    key, seconds = _repeat_key(send, key_hash)
    result = atomic_limits.acquire(
        _windows(send, send.company_limits),
        cool_down=key,
        seconds=seconds,
        holder=f"{send.id.hex}:{key_hash}",
        key_hash=key_hash,
        pool=_pool(send),
    )
    if result.outcome in REFUSED_BY_COOL_DOWN and untried and untried.is_untried():
        return _acquire_untried(send, untried, result, key_hash)
    return _Acquisition(result, key)


def _acquire_untried(
    send: Send, untried: UntriedChannel, refusal: LimitResult, key_hash: str = ""
) -> _Acquisition:
    """Acquires a place in the limits without the phone's cool-down, which an earlier send holds.

    A cool-down of the channel keeps concurrent sends from taking each other's places.
    """
    key = f"{_cool_down_key(send)}:{untried.key}"
    result = atomic_limits.acquire(
        _windows(send, send.company_limits),
        cool_down=key,
        seconds=cool_down(send.company_limits),
        holder=f"{send.id.hex}:{key_hash}",
        key_hash=key_hash,
        pool=_pool(send),
    )
    return _Acquisition(result, key, partial(_channel_lock, untried, refusal))


@contextmanager
def _channel_lock(untried: UntriedChannel, refusal: LimitResult) -> Iterator[None]:
    """Holds the lock that lets one of several concurrent sends use the channel."""
    with transaction.atomic():
        if not untried.lock_untried():
            _raise_if_refused(refusal)
        yield


def seconds_until_allowed(send: Send) -> int:
    """Seconds until this send would be allowed, 0 if now; counts nothing."""
    try:
        return atomic_limits.seconds_until_granted(
            _windows(send, send.company_limits), cool_down=_cool_down_key(send), pool=_pool(send)
        )
    except LimiterDownError:
        limit = _count_in_postgres(send)
        return 0 if limit.outcome == atomic_limits.GRANTED else limit.wait


def release(send: CountedMessage) -> None:
    """Uncounts a message that a vendor refused, so that another channel can be tried at once.

    At most `RELEASE_LIMIT` times per company, mode and phone, because the limits must hold for
    numbers that no channel reaches.
    """
    count, seconds = settings.RELEASE_LIMIT
    atomic_limits.release(
        _windows(send),
        cool_down=_cool_down_key(send),
        holder=f"{send.id.hex}:",
        limit=Window(f"freed:{send.company_id}:{send.mode}:{hashed(send.phone)}", count, seconds),
        pool=_pool(send),
    )


def forget(phone: str) -> None:
    """Deletes all counters of this phone for all companies. They expire within two days anyway."""
    try:
        client = redis_client()
        for key in client.scan_iter(match=f"*:{hashed(phone)}*", count=1000):
            client.delete(key)
    except RedisError as error:
        log.warning("send_limits_not_forgotten", error=type(error).__name__)


def _raise_if_refused(limit: LimitResult) -> None:
    if limit.outcome == atomic_limits.DUPLICATE:
        raise DomainError(Error.REQUEST_IN_PROGRESS, retry_after=1)
    if limit.outcome == atomic_limits.COOLING_DOWN:
        raise DomainError(Error.RESEND_TOO_SOON, retry_after=limit.wait)
    if limit.outcome == atomic_limits.POOL_EMPTY:
        kind = "phone_all_companies"
        text = SHARED_POOL_EMPTY
        raise DomainError(
            Error.SEND_LIMIT, message=text, retry_after=limit.wait, limit={"kind": kind}
        )
    if limit.outcome > 0:
        raise DomainError(Error.SEND_LIMIT, retry_after=limit.wait, limit={"kind": "phone"})


_DEFINITE = (
    errors.LockNotAvailable,
    errors.QueryCanceled,
    errors.DeadlockDetected,
    NotPrimaryError,
)


def nothing_was_written(error: Exception) -> bool:
    """Whether a failed statement certainly wrote nothing; a faster repeat keeps the count."""
    if isinstance(error, IntegrityError):
        return "idempotency_key_once" not in str(error)
    if isinstance(error, OperationalError | InterfaceError):
        return isinstance(error.__cause__, _DEFINITE)
    return True


def cool_down(limits: CompanyLimits) -> int:
    """Seconds between two codes to one phone: the company's setting, or else ours."""
    return limits.cool_down or settings.COOL_DOWN


def _cool_down(send: Send) -> int:
    applies = send.kind == "code" and send.mode == "live"
    return cool_down(send.company_limits) if applies else 0


def _repeat_key(send: Send, key_hash: str) -> tuple[str, int]:
    """The key that detects a parallel repeat: the cool-down's, or else one made of the hash."""
    if key_hash and not _cool_down(send):
        return (
            f"duplicate:{send.company_id}:{send.mode}:{key_hash}",
            atomic_limits.DUPLICATE_SECONDS,
        )
    return _cool_down_key(send), _cool_down(send)


def _cool_down_key(send: CountedMessage) -> str:
    return f"cool:{send.company_id}:{send.mode}:{hashed(send.phone)}"


def _company_limits(kind: str, limits: CompanyLimits) -> list[tuple[int, int]]:
    """(count, seconds): the company's limit if set, capped to leave a share to others."""
    is_code = kind == "code"
    standard = settings.CODE_LIMITS if is_code else settings.LINK_LIMITS
    if limits is NO_LIMITS:
        return standard
    caps = settings.MAX_CODE_LIMITS if is_code else settings.MAX_LINK_LIMITS
    counts = limits[1:4] if is_code else limits[4:]
    return [
        (min(own_count or count, cap), seconds)
        for own_count, cap, (count, seconds) in zip(counts, caps, standard, strict=True)
    ]


def _windows(send: CountedMessage, limits: CompanyLimits = NO_LIMITS) -> list[Window]:
    """The company's windows for this phone; `release` needs only their keys, so no limits."""
    phone = hashed(send.phone)
    return [
        Window(f"send:{send.company_id}:{send.mode}:{send.kind}:{seconds}:{phone}", count, seconds)
        for count, seconds in _company_limits(send.kind, limits)
    ]


def _pool(send: CountedMessage) -> Pool | None:
    """The phone's pool, separate for codes and links: links cannot delay a code."""
    if send.mode != "live":
        return None
    phone = hashed(send.phone)
    return Pool(
        shared=Bucket(f"pool:{send.kind}:{phone}", *settings.PHONE_POOL),
        reserve=Bucket(f"reserve:{send.kind}:{phone}", *settings.PHONE_RESERVE),
        reserved_sends=settings.RESERVED_SENDS,
    )


_SQL = sql_files.read_several("channels/accept/send_limits.sql")


@contextmanager
def _counted_in_postgres(send: Send, untried: UntriedChannel | None = None) -> Iterator[None]:
    """Applies the limits to a send, counted from messages under an advisory lock of the phone.

    The send joins the lock's transaction. A lock of the session would outlive it in a pooler, whose
    sessions change between two transactions.
    """
    number = int.from_bytes(bytes.fromhex(hashed(send.phone))[:8], "big", signed=True)
    with transaction.atomic():
        advisory_locks.lock(number)
        result = _count_in_postgres(send)
        needs_untried = untried and (result.outcome in REFUSED_BY_COOL_DOWN or untried.is_required)
        if untried and needs_untried and untried.lock_untried():
            result = _count_in_postgres(send, cools_down=False)
        _raise_if_refused(result)
        yield


def _count_in_postgres(send: Send, *, cools_down: bool = True) -> LimitResult:
    checks = [
        (number, count, seconds)
        for number, (count, seconds) in enumerate(
            _company_limits(send.kind, send.company_limits), start=1
        )
    ]
    if cools_down and _cool_down(send):
        checks.insert(0, (atomic_limits.COOLING_DOWN, 1, _cool_down(send)))
    with connection.cursor() as cursor:
        for outcome, limit, seconds in checks:
            cursor.execute(
                _SQL["count"],
                {
                    "seconds": seconds,
                    "phone": send.phone,
                    "mode": send.mode,
                    "kind": send.kind,
                    "company_id": send.company_id,
                },
            )
            used, wait = cursor.fetchone()
            if used >= limit:
                return LimitResult(outcome, max(1, wait))
        return _pool_result(cursor, send)


def _pool_result(cursor: CursorWrapper, send: Send) -> LimitResult:
    pool = _pool(send)
    if pool is None:
        return LimitResult(atomic_limits.GRANTED, 0)
    cursor.execute(_SQL["sent"], [send.phone, send.kind])
    uses = [PoolUse(company_id, -ago) for company_id, ago in cursor.fetchall()]
    wait = pool_wait(pool, uses, PoolUse(send.company_id, 0.0))
    if wait > 0:
        return LimitResult(atomic_limits.POOL_EMPTY, max(1, ceil(wait)))
    return LimitResult(atomic_limits.GRANTED, 0)
