"""Guesses at slugs on an edge: limited by visitor, and all together."""

import time

import pytest

from links.edge import misses
from links.edge.misses import TokenBucket, VisitorMisses

FIRST = {"REMOTE_ADDR": "198.51.100.1"}
SECOND = {"REMOTE_ADDR": "198.51.100.2"}


def test_visitor_waits_after_the_last_miss_that_is_free() -> None:
    limit = VisitorMisses(2, 600)

    waits = [limit.count_miss(FIRST) for _ in range(4)]

    assert waits[:2] == [0, 0]
    assert all(0 < wait <= 600 for wait in waits[2:])
    assert 0 < limit.seconds_to_wait(FIRST) <= 600
    assert limit.seconds_to_wait(SECOND) == 0


def test_addresses_of_one_ipv6_network_are_one_visitor() -> None:
    limit = VisitorMisses(1, 600)
    limit.count_miss({"REMOTE_ADDR": "2001:db8::1"})

    assert limit.seconds_to_wait({"REMOTE_ADDR": "2001:db8::2"})


def test_visitor_without_an_address_is_not_limited() -> None:
    limit = VisitorMisses(1, 600)

    assert [limit.count_miss({}) for _ in range(3)] == [0, 0, 0]
    assert limit.seconds_to_wait({}) == 0


def test_misses_are_forgotten_when_their_time_is_over() -> None:
    limit = VisitorMisses(1, 1)
    limit.count_miss(FIRST)
    assert limit.seconds_to_wait(FIRST) == 1
    time.sleep(1.1)

    assert limit.seconds_to_wait(FIRST) == 0
    assert limit.count_miss(FIRST) == 0


def test_only_so_many_visitors_are_remembered(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(misses, "MAX_VISITORS", 10)
    limit = VisitorMisses(1, 600)

    for number in range(25):
        limit.count_miss({"REMOTE_ADDR": f"203.0.113.{number}"})

    assert len(limit._counts) <= 10


def test_bucket_holds_those_of_two_seconds_and_fills_again() -> None:
    bucket = TokenBucket(5)

    taken = [bucket.take() for _ in range(11)]
    bucket.give_back()
    after = [bucket.take(), bucket.take()]
    time.sleep(0.3)

    assert taken == [True] * 10 + [False]
    assert after == [True, False]
    assert bucket.take()
