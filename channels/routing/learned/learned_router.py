"""The learned router of this process, and its state as JSON.

The state is read again within ten seconds after a worker learned; faded counts are left out.
"""

from dataclasses import astuple, replace
from math import inf
from typing import Any

import orjson
from django.db.backends.utils import CursorWrapper

from channels.models import RouterState
from channels.routing.smart.account_balance import HALF_LIFE as ACCOUNT_HALF_LIFE
from channels.routing.smart.account_balance import AccountBalance
from channels.routing.smart.decay import EDGES, Counts, TimeHistogram, weight
from channels.routing.smart.health import Health, Run
from channels.routing.smart.reach import HALF_LIFE, PhoneHistoryGroup, Reach, Standing
from channels.routing.smart.router import (
    EVERYWHERE,
    MIN_GAP,
    PROBE_TOKENS_A_DAY,
    TIMES_HALF_LIFE,
    Exploration,
    Router,
)
from processes.process_state import on_reset
from storage.process_cache import SnapshotCache

FORMAT = 4
# In trials. Ranges follow the numbers that clients send, so rare ones are dropped.
MIN_WEIGHT = 0.05
MIN_RANGE_WEIGHT = 0.5
DIGITS = 5  # significant digits
State = dict[str, Any]


def encode(router: Router, now: float) -> State:
    return {
        "format": FORMAT,
        "cells": [
            [country, range_, channel, past.standing.value, past.others, *_counts(cell)]
            for (country, range_, channel, past), cell in router.reach.cells.items()
            if cell.trials * weight(now - cell.at, HALF_LIFE)
            > (MIN_RANGE_WEIGHT if range_ else MIN_WEIGHT)
        ],
        "channel_health": [
            [*key, at, expected, delivered, *fall, *rise]
            for key, health in router.channel_health.items()
            for at, expected, delivered, fall, rise in [astuple(health)]
        ],
        "proofs": [[*key, *_histogram(times)] for key, times in router.proofs.items()],
        "codes": [[*key, *_histogram(times)] for key, times in router.codes.items()],
        "accounts": [[*key, *_balance(balance)] for key, balance in router.accounts.items()],
    }


def decode(state: State) -> Router:
    """Decodes the state; another format gives an empty router, which learns again within a day."""
    router = Router({})
    if state.get("format") != FORMAT:
        return router
    router.reach = Reach(
        {
            (country, range_, channel, PhoneHistoryGroup(Standing(standing), others)): Counts(
                HALF_LIFE, *counts
            )
            for country, range_, channel, standing, others, *counts in state["cells"]
        }
    )
    router.channel_health = {
        (country, channel): Health(at, expected, delivered, Run(*runs[:3]), Run(*runs[3:]))
        for country, channel, at, expected, delivered, *runs in state["channel_health"]
    }
    router.proofs = _histograms(state["proofs"])
    router.codes = _histograms(state["codes"])
    router.accounts = {
        (group, channel): _balance_of(values) for group, channel, *values in state["accounts"]
    }
    return router


def _counts(counts: Counts) -> list[float]:
    values = counts.trials, counts.hits, counts.refusals
    return [round(counts.at, 1), *map(_rounded, values)]


def _balance(balance: AccountBalance) -> list[Any]:
    counts = {name: _counts(account_counts) for name, account_counts in balance.counts.items()}
    return [balance.configured_shares, balance.shares, counts, balance.changed_at]


def _balance_of(values: list[Any]) -> AccountBalance:
    configured_shares, shares, counts, changed_at = values
    counts_by_account = {
        name: Counts(ACCOUNT_HALF_LIFE, *values) for name, values in counts.items()
    }
    return AccountBalance(configured_shares, shares, counts_by_account, changed_at)


def _histogram(times: TimeHistogram) -> list[Any]:
    at = None if times.at == -inf else round(times.at, 1)
    return [at, [_rounded(count) for count in times.bins]]


def _histograms(rows: list[list[Any]]) -> dict[tuple[str, str], TimeHistogram]:
    histograms = {}
    for country, channel, at, bins in rows:
        if len(bins) == len(EDGES) + 1:
            times = TimeHistogram(1.0, 1.0, TIMES_HALF_LIFE)  # its guess is contained in the bins
            times.bins = list(bins)
            times.at = -inf if at is None else at
            histograms[country, channel] = times
    for (country, channel), times in histograms.items():
        if country != EVERYWHERE:
            times.parent = histograms.get((EVERYWHERE, channel))
    return histograms


def _rounded(value: float) -> float:
    return float(f"{value:.{DIGITS}g}")


REFRESH_INTERVAL = 10.0  # seconds
TOKENS_A_DAY = PROBE_TOKENS_A_DAY // 5  # of each process, as a service has about five

_VERSION = "SELECT version FROM channels_routerstate WHERE id = %s"
_STATE = "SELECT version, state FROM channels_routerstate WHERE id = %s"

_exploration = Exploration(TOKENS_A_DAY)


class _LearnedVersion:
    """A version and its router; exploration belongs to the process."""

    def __init__(self) -> None:
        self.version = -1
        self.router = Router({})

    def read(self, cursor: CursorWrapper) -> Router:
        cursor.execute(_VERSION, [RouterState.ONLY])
        row = cursor.fetchone()
        if row is None or row[0] == self.version:
            return self.router
        cursor.execute(_STATE, [RouterState.ONLY])
        version, state = cursor.fetchone()
        router = decode(orjson.loads(state) if isinstance(state, str) else state)
        for probes in list(_exploration.probes.values()):  # changed by requests
            probes.gap = MIN_GAP  # the new state contains their outcomes
        self.router = router
        self.version = version
        return router


_learned = _LearnedVersion()
_cache = SnapshotCache("router", _learned.read, Router({}), interval=REFRESH_INTERVAL)
keep_fresh = _cache.keep_fresh


def router(prices: dict[str, int], *, explores: bool) -> Router:
    """The router with these prices. Its state is shared: callers must not record outcomes in it."""
    exploration = _exploration if explores else Exploration(0)
    return replace(_cache.get(), prices=prices, exploration=exploration)


@on_reset
def _forget() -> None:
    """Forgets what was learned; the cache forgets by itself."""
    _learned.version = -1
    _learned.router = Router({})
    _exploration.probes.clear()
    _exploration.spent = 0
