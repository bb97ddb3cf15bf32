"""Teaches the router of `channels.routing.smart` from finished codes, every thirty seconds.

A code is finished two minutes after its send. One transaction updates the learning position, the
router's state and the memories of phones: a code teaches once, even if a worker dies.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from itertools import groupby
from math import inf
from typing import Any, NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction

from catalogue.channels import BY_NAME
from catalogue.ids import first_id_at
from channels.models import RouterState
from channels.phone_numbers import country_of
from channels.routing.learned import account_shares, learned_router, phone_memories
from channels.routing.learned.smart_plan import range_of
from channels.routing.smart.reach import Area, PhoneMemory
from channels.routing.smart.router import Router, Try
from otp.unreported_codes import OF_ANY_CODE, REPORTED_WITHIN, is_outcome_known
from storage.sessions import database_now
from storage.statements import sql_files
from storage.statements.queries import select
from storage.store_errors import is_refusal

# The replay closes a send after the same time; later events teach nothing.
CLOSED_AFTER = timedelta(seconds=120)
UNREACHABLE_CLASSES = {"unreachable", "barred"}  # error classes that concern this person's phone
# A resent code is older than its message.
CODE_AGE = timedelta(seconds=settings.LONGEST_CODE_LIFETIME)

_IS_OUTCOME_KNOWN = is_outcome_known(
    "(message.created_at + make_interval(secs => %(closed_after)s))"
)
_ATTEMPTS = sql_files.fill(
    sql_files.read("otp/statistics/route_learning.sql"),
    of_any_code=OF_ANY_CODE,
    is_outcome_known=_IS_OUTCOME_KNOWN,
)


class _Row(NamedTuple):
    """An attempt and its code; times are seconds since 1970."""

    id: UUID
    phone: str
    created: float
    verified: float | None
    is_sent_again: bool  # before the code was entered: another message may have brought it
    n: int
    channel: str
    provider: str
    state: str
    error_class: str
    started: float
    finished: float | None


@dataclass(frozen=True, slots=True)
class ChannelTry:
    """A channel that was tried, with one or more attempts."""

    channel: str
    accounts: tuple[str, ...]  # accounts in the order of their attempts; all but the last failed
    started: float
    delivered: float | None
    refused: float | None  # when the vendor reported that the recipient is not on the channel
    is_barred: bool
    is_fault: bool  # our fault or the vendor's, which says nothing about the recipient


TriedCode = tuple[_Row, list[ChannelTry]]  # id and channels of the code's first attempt


def _tried_codes(since: datetime, until: datetime) -> list[TriedCode]:
    """Codes closed in `[since, until)`, in the order of their sends."""
    start, end = since - CLOSED_AFTER, until - CLOSED_AFTER
    params: dict[str, Any] = {
        "first": first_id_at(start),
        "last": first_id_at(end),
        "first_code": first_id_at(start - CODE_AGE),
        "first_reported": first_id_at(start - REPORTED_WITHIN),
        "closed_after": CLOSED_AFTER.total_seconds(),
    }
    rows = select(_Row, _ATTEMPTS, params)
    codes = [
        list(attempts_of_code) for _id, attempts_of_code in groupby(rows, key=lambda row: row.id)
    ]
    return [(attempts[0], _channel_tries(attempts)) for attempts in codes]


def _channel_tries(attempts: list[_Row]) -> list[ChannelTry]:
    by_channel = groupby(attempts, key=lambda row: row.channel)
    return [_channel_try(list(rows)) for _channel, rows in by_channel]


def _channel_try(rows: list[_Row]) -> ChannelTry:
    """The try of a channel, by its last attempt.

    Earlier attempts failed for reasons other than the recipient.
    """
    last = rows[-1]
    names = [row.provider for row in rows]
    is_there = last.error_class not in UNREACHABLE_CLASSES
    is_failed = last.state == "failed"
    return ChannelTry(
        channel=last.channel,
        accounts=(*dict.fromkeys(name for name in names if name != names[-1]), names[-1]),
        started=rows[0].started,
        delivered=last.finished if last.state == "delivered" else None,
        refused=last.finished if is_failed and not is_there else None,
        is_barred=last.error_class == "barred",
        is_fault=is_failed and is_there,
    )


log = structlog.get_logger(__name__)
LAG = timedelta(seconds=3)  # until the event is committed
SILENT_AFTER = 60.0  # seconds without proof, if no other attempt followed
MAX_STEP = timedelta(minutes=1)
MAX_ABSENCE = timedelta(hours=6)


def learn() -> None:
    """Learns from the codes finished until now. Returns at once while another worker learns."""
    until = database_now() - LAG
    cached = CachedRouter(-1, Router({}))
    while _learn_step(until, cached):
        pass
    if cached.version >= 0:
        account_shares.write_factors(cached.router)


@dataclass(slots=True)
class CachedRouter:
    """The router at one version of its state, read once for a run of steps."""

    version: int
    router: Router


def _learn_step(until: datetime, cached: CachedRouter) -> bool:
    """Learns from the next codes; returns whether more are left."""
    with transaction.atomic():
        # None if another worker has it; learning starts with the codes closed after `until`.
        RouterState.objects.bulk_create(
            [RouterState(pk=RouterState.ONLY, learned_until=until)], ignore_conflicts=True
        )
        state = RouterState.objects.select_for_update(skip_locked=True).first()
        if state is None or state.learned_until >= until:
            return False
        since = max(state.learned_until, until - MAX_ABSENCE)
        end = min(until, since + MAX_STEP)
        changed = _learn(since, end, state, cached)
        RouterState.objects.filter(pk=RouterState.ONLY).update(learned_until=end, **changed)
    return end < until


def _learn(
    since: datetime, end: datetime, state: RouterState, cached: CachedRouter
) -> dict[str, Any]:
    """The state after these codes.

    If a code cannot be learned from, all codes of the step are skipped, because they would
    otherwise be learned in part.
    """
    try:
        with transaction.atomic():
            return _learned(_tried_codes(since, end), end, state, cached)
    except Exception as error:
        if not is_refusal(error):
            raise
        log.exception("codes_not_learned", since=since.isoformat())
        cached.version = -1  # the state is read again
        return {}


def _learned(
    codes: list[TriedCode], end: datetime, state: RouterState, cached: CachedRouter
) -> dict[str, Any]:
    if not codes:
        return {}
    if cached.version != state.version:
        cached.router = learned_router.decode(state.state)
        cached.router.prices = dict.fromkeys(BY_NAME, 0)  # only names matter here
    account_shares.follow_accounts(cached.router, account_shares.groups())
    memories = phone_memories.load_many(code.phone for code, _tries in codes)
    for code, tries in codes:
        _teach(cached.router, memories[code.phone], code, tries)
    phone_memories.save_many(memories, end.timestamp())
    cached.version = state.version + 1
    return {
        "state": learned_router.encode(cached.router, end.timestamp()),
        "version": cached.version,
    }


def _teach(router: Router, memory: PhoneMemory, code: _Row, all_tries: list[ChannelTry]) -> None:
    area = Area(country_of(code.phone), range_of(code.phone))
    tries = [tried for tried in all_tries if not tried.is_fault]
    steps = [
        router.begin_try(tried.started, area, memory, tried.channel, index)
        for index, tried in enumerate(tries)
    ]
    for index, (tried, step) in enumerate(zip(tries, steps, strict=True)):
        following = tries[index + 1].started if index + 1 < len(tries) else None
        _teach_try(router, memory, tried, step, following)
    verified = code.verified if code.verified is not None else inf
    if not code.is_sent_again:
        _compare_accounts(router, code.created, all_tries, verified)
    if verified < inf and not code.is_sent_again:
        sole = _sole_try_index(tries, verified)
        if sole is not None:
            router.record_entry(verified, steps[sole], memory)


def _compare_accounts(
    router: Router, created: float, tries: list[ChannelTry], verified: float
) -> None:
    """Credits an account with the code if it was entered before the next channel was tried.

    Account faults count here, because accounts cause them.
    """
    following = [*(tried.started for tried in tries[1:]), inf]
    closed = created + CLOSED_AFTER.total_seconds()
    for tried, ends in zip(tries, following, strict=True):
        *failed, last = tried.accounts
        for account in failed:
            account_shares.record(router, closed, account, verified=False)
        account_shares.record(router, closed, last, verified=verified <= min(ends, closed))


def _teach_try(
    router: Router, memory: PhoneMemory, tried: ChannelTry, step: Try, following: float | None
) -> None:
    """Teaches the events of a try in the order in which a sender would have seen them."""
    if tried.refused is not None:
        router.record_refusal(tried.refused, step, memory, barred=tried.is_barred)
        return
    silent_at = tried.started + SILENT_AFTER
    if following is not None:
        silent_at = min(silent_at, following)
    if tried.delivered is None or tried.delivered > silent_at:
        router.record_unproved(silent_at, step, memory)
    if tried.delivered is not None:
        router.record_delivery(tried.delivered, step, memory)


def _sole_try_index(tries: list[ChannelTry], verified: float) -> int | None:
    """The only try that can have brought the code."""
    arrived = [
        index
        for index, row in enumerate(tries)
        if row.delivered is not None and row.delivered <= verified
    ]
    if len(arrived) == 1:
        return arrived[0]
    accepted = [
        index
        for index, tried in enumerate(tries)
        if tried.refused is None and tried.started <= verified
    ]
    return accepted[0] if not arrived and len(accepted) == 1 else None
