"""Learns from codes that are over, every thirty seconds.

One transaction moves the mark of what was learned, the router's state and the memories of phones
together: a code teaches once, whichever worker dies in between.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from math import inf
from typing import Any

import structlog
from django.db import transaction

from channels.models import RouterState
from channels.phone_numbers import country_of
from channels.routing.learned import account_shares, phone_memories, state_codec
from channels.routing.learned.smart_plan import range_of
from channels.routing.smart.phone_memory import PhoneMemory
from channels.routing.smart.reach import Place
from channels.routing.smart.router import Router, Try
from config.channels import BY_NAME
from config.storage.database_clock import database_now
from config.storage.store_errors import is_refusal
from otp.route_learning import code_attempts
from otp.route_learning.code_attempts import CLOSED_AFTER, ChannelTry, TriedCode

log = structlog.get_logger(__name__)
LAG = timedelta(seconds=3)  # until what happened is committed
SILENT_AFTER = 60.0  # seconds without proof, where nothing followed
LONGEST_STEP, LONGEST_ABSENCE = timedelta(minutes=1), timedelta(hours=6)


def learn() -> None:
    """Does nothing while another worker learns."""
    until = database_now() - LAG
    known = Known(-1, Router({}))
    while _learn_step(until, known):
        pass
    if known.version >= 0:
        account_shares.apply(known.router)


@dataclass(slots=True)
class Known:
    """The router of a version of the state: read once for a run of steps."""

    version: int
    router: Router


def _learn_step(until: datetime, known: Known) -> bool:
    """Whether there is more to learn."""
    with transaction.atomic():
        state = _locked(until)
        if state is None or state.learned_until >= until:
            return False
        since = max(state.learned_until, until - LONGEST_ABSENCE)
        end = min(until, since + LONGEST_STEP)
        changed = _learn(since, end, state, known)
        RouterState.objects.filter(pk=RouterState.ONLY).update(learned_until=end, **changed)
    return end < until


def _learn(since: datetime, end: datetime, state: RouterState, known: Known) -> dict[str, Any]:
    """The new state. Of codes that cannot be learned from, those of the whole step are left out:
    what was learned of them so far would be half of it.
    """
    try:
        with transaction.atomic():
            return _learned(list(code_attempts.tried_codes(since, end)), end, state, known)
    except Exception as error:
        if not is_refusal(error):
            raise
        log.exception("codes_not_learned", since=since.isoformat())
        known.version = -1  # it is read again
        return {}


def _learned(
    codes: list[TriedCode], end: datetime, state: RouterState, known: Known
) -> dict[str, Any]:
    if not codes:
        return {}
    if known.version != state.version:
        known.router = state_codec.decode(state.state)
        known.router.prices = dict.fromkeys(BY_NAME, 0)  # names alone matter here
    account_shares.adopt(known.router, account_shares.groups())
    memories = phone_memories.load_many(code.phone for code in codes)
    for code in codes:
        _teach(known.router, memories[code.phone], code)
    phone_memories.save_many(memories, end.timestamp())
    known.version = state.version + 1
    return {
        "state": state_codec.encode(known.router, end.timestamp()),
        "version": known.version,
    }


def _locked(until: datetime) -> RouterState | None:
    """None if another worker has it; it begins with the codes that are closed after `until`."""
    RouterState.objects.bulk_create(
        [RouterState(pk=RouterState.ONLY, learned_until=until)], ignore_conflicts=True
    )
    return RouterState.objects.select_for_update(skip_locked=True).first()


def _teach(router: Router, memory: PhoneMemory, code: TriedCode) -> None:
    place = Place(country_of(code.phone), range_of(code.phone))
    tries = [one for one in code.tries if not one.is_fault]
    steps = [
        router.asked(one.started, place, memory, one.channel, n) for n, one in enumerate(tries)
    ]
    for n, (one, step) in enumerate(zip(tries, steps, strict=True)):
        following = tries[n + 1].started if n + 1 < len(tries) else None
        _teach_try(router, memory, one, step, following)
    verified = code.verified if code.verified is not None else inf
    _compare_accounts(router, code, verified)
    proof = min((one.delivered for one in tries if one.delivered is not None), default=inf)
    if verified < inf:
        sole = _sole(tries, verified)
        if sole is not None and not code.is_sent_again:
            router.entered(verified, steps[sole], memory)
    if proof < inf and not code.is_sent_again:
        after = proof - code.created
        if verified < inf or after < CLOSED_AFTER.total_seconds():
            router.stayed(proof, after, verified=verified < inf)


def _compare_accounts(router: Router, code: TriedCode, verified: float) -> None:
    """An account brought the code if it was entered before anything else was asked. Faults of an
    account count here: they are its own.
    """
    if code.is_sent_again:
        return
    following = [*(one.started for one in code.tries[1:]), inf]
    closed = code.created + CLOSED_AFTER.total_seconds()
    for one, ends in zip(code.tries, following, strict=True):
        *failed, last = one.accounts
        for account in failed:
            account_shares.record(router, closed, account, verified=False)
        account_shares.record(router, closed, last, verified=verified <= min(ends, closed))


def _teach_try(
    router: Router, memory: PhoneMemory, one: ChannelTry, step: Try, following: float | None
) -> None:
    """In the order in which a sender would have seen it."""
    if one.refused is not None:
        router.refused(one.refused, step, memory, barred=one.is_barred)
        return
    silent_at = one.started + SILENT_AFTER
    if following is not None:
        silent_at = min(silent_at, following)
    if one.delivered is None or one.delivered > silent_at:
        router.silent(silent_at, step, memory)
    if one.delivered is not None:
        router.delivered(one.delivered, step, memory)


def _sole(tries: list[ChannelTry], verified: float) -> int | None:
    """The one that alone can have brought the code."""
    arrived = [
        n for n, one in enumerate(tries) if one.delivered is not None and one.delivered <= verified
    ]
    if len(arrived) == 1:
        return arrived[0]
    asked = [n for n, one in enumerate(tries) if one.refused is None and one.started <= verified]
    return asked[0] if not arrived and len(asked) == 1 else None
