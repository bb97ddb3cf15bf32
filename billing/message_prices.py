"""Prices of messages by channel and country: the service's, and those of SMS by country.

A process cache that a thread keeps fresh: no send waits for a query. Each price has a start time,
so processes that read it at different times agree.
"""

import time
from bisect import bisect_right
from collections.abc import Mapping
from typing import NamedTuple

from django.conf import settings
from django.db.backends.utils import CursorWrapper

from catalogue.channels import BY_NAME
from storage.process_cache import SnapshotCache

REFRESH_INTERVAL = 1.0  # seconds

_READ = """
SELECT country, EXTRACT(epoch FROM starts_at)::float8, tokens FROM billing_smsprice
ORDER BY country, starts_at
"""


class _Step(NamedTuple):
    """A country's price from its start time on; a None leaves it to the price for all countries."""

    starts_at: float
    tokens: int | None


_ByCountry = Mapping[str, tuple[_Step, ...]]
_NONE: _ByCountry = {}


def _read(cursor: CursorWrapper) -> _ByCountry:
    cursor.execute(_READ)
    steps: dict[str, tuple[_Step, ...]] = {}
    for country, starts_at, tokens in cursor.fetchall():
        steps[country] = (*steps.get(country, ()), _Step(starts_at, tokens))
    return steps


_prices = SnapshotCache("sms_prices", _read, _NONE, interval=REFRESH_INTERVAL)
keep_fresh = _prices.keep_fresh
refresh = _prices.read


def price_of(channel: str, country: str = "") -> int:
    """Tokens for a delivered message; `country` empty or unknown: the price of all countries."""
    default = int(settings.PRICES[channel])
    if not country or not BY_NAME[channel].has_segments:
        return default
    return _tokens(_prices.get().get(country, ())) or default


def by_country() -> dict[str, int]:
    """The SMS prices in force, of countries with their own price."""
    now = {country: _tokens(steps) for country, steps in _prices.get().items()}
    return {country: tokens for country, tokens in now.items() if tokens is not None}


def _tokens(steps: tuple[_Step, ...]) -> int | None:
    started = bisect_right(steps, time.time(), key=lambda step: step.starts_at)
    return steps[started - 1].tokens if started else None
