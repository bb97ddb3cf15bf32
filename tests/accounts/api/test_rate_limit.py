"""The API's rate limit per key: exact over all processes, with few calls to Redis."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import Any

import pytest
import time_machine
from django.http import HttpRequest
from django_ratelimit.core import get_usage

from accounts.api import rate_limit
from accounts.api.rate_limit import KeyRateLimiter
from accounts.keys import api_keys
from accounts.keys.api_keys import Principal
from tests.factories import ApiKeyFactory

NOON = 1_790_000_000  # some whole second


@pytest.fixture
def clock() -> Iterator[time_machine.Traveller]:
    with time_machine.travel(NOON, tick=False) as traveller:
        yield traveller


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The rates that the store was asked for."""
    seen: list[str] = []

    def ask(*args: Any, **kwargs: Any) -> Any:
        seen.append(kwargs["rate"])
        return get_usage(*args, **kwargs)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(rate_limit, "get_usage", ask)
    return seen


def principal(limit: int) -> Principal:
    key = ApiKeyFactory.create(company__api_rate=limit)
    found = api_keys.find(key.plaintext)
    assert found is not None
    return found


def passed(process: KeyRateLimiter, who: Principal, times: int) -> int:
    left = [process.count(HttpRequest(), who) for _ in range(times)]
    return sum(usage is not None and usage.left >= 0 for usage in left)


def begin_window(clock: time_machine.Traveller, who: Principal) -> None:
    """Go to where a window begins: which second that is depends on the id of the key."""
    usage = KeyRateLimiter().count(HttpRequest(), who)
    assert usage is not None
    clock.shift(usage.wait + 1)


@pytest.mark.parametrize("limit", [1, 7, 100, 101, 199, 1000, 1234])
def test_exactly_the_limit_passes(db: None, clock: object, limit: int) -> None:
    assert passed(KeyRateLimiter(), principal(limit), limit + 20) == limit


def test_usage_reports_a_decreasing_remainder(db: None, clock: object) -> None:
    who, process = principal(1000), KeyRateLimiter()

    left = [usage.left for usage in (process.count(HttpRequest(), who) for _ in range(25)) if usage]

    assert left == list(range(999, 974, -1))


def test_one_redis_call_leases_a_hundredth_of_the_limit(
    db: None, clock: object, asked: list[str]
) -> None:
    who, process = principal(1000), KeyRateLimiter()

    assert passed(process, who, 1500) == 1000

    assert asked == ["100/10s"] * 100


@pytest.mark.parametrize("limit", [5, 100, 1000])
def test_processes_together_let_no_more_than_the_limit_pass(
    db: None, clock: object, limit: int
) -> None:
    who, first, second = principal(limit), KeyRateLimiter(), KeyRateLimiter()

    total = passed(first, who, limit // 2 + 1) + passed(second, who, limit) + passed(first, who, 5)

    assert limit - limit // 100 <= total <= limit


def test_threads_share_the_limit_exactly(db: None, clock: object) -> None:
    who, process = principal(1000), KeyRateLimiter()

    with ThreadPoolExecutor(16) as pool:
        counts = pool.map(lambda _n: passed(process, who, 100), range(16))

    assert sum(counts) == 1000


def test_the_next_window_begins_anew(db: None, clock: time_machine.Traveller) -> None:
    who, process = principal(3), KeyRateLimiter()
    assert passed(process, who, 5) == 3

    begin_window(clock, who)

    assert passed(process, who, 5) == 3


def test_changed_limit_applies_at_once(db: None, clock: object) -> None:
    who, process = principal(2), KeyRateLimiter()
    assert passed(process, who, 5) == 2

    assert passed(process, replace(who, api_rate=5), 9) == 5


def test_redis_failure_disables_counting_and_backs_off(
    db: None, no_redis: None, asked: list[str]
) -> None:
    who, process = principal(1), KeyRateLimiter()

    assert [process.count(HttpRequest(), who) for _ in range(5)] == [None] * 5
    assert len(asked) == 1


def test_lease_is_not_lost_when_a_second_begins_during_another(
    db: None, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two threads lease at once; the second one's answer is read a second later."""
    who, process = principal(1000), KeyRateLimiter()
    begin_window(clock, who)
    seen: list[bool] = []

    def ask(*args: Any, **kwargs: Any) -> Any:
        if not seen:  # the other thread, meanwhile
            seen.append(True)
            assert passed(process, who, 1) == 1
            usage = get_usage(*args, **kwargs)  # type: ignore[no-untyped-call]
            clock.shift(1)
            return usage
        return get_usage(*args, **kwargs)  # type: ignore[no-untyped-call]

    monkeypatch.setattr(rate_limit, "get_usage", ask)

    assert 1 + passed(process, who, 1200) == 1000


def test_answer_of_the_window_before_does_not_end_the_present_one(
    db: None, clock: time_machine.Traveller, monkeypatch: pytest.MonkeyPatch
) -> None:
    who, process = principal(3), KeyRateLimiter()
    seen: list[int] = []
    assert passed(process, who, 3) == 3

    def ask(*args: Any, **kwargs: Any) -> Any:
        usage = get_usage(*args, **kwargs)  # type: ignore[no-untyped-call]
        if not seen:  # refused, and read only after another thread began the next window
            seen.append(usage["count"])
            clock.shift(usage["time_left"] + 1)
            assert passed(process, who, 1) == 1
            usage["time_left"] -= usage["time_left"] + 1
        return usage

    monkeypatch.setattr(rate_limit, "get_usage", ask)
    process._windows.clear()

    assert passed(process, who, 1) == 1
    assert seen == [4]
