"""Visitors cannot fill the memory of a process by headers that they make up."""

from links.clicks.header_cache import MAX_ENTRIES, MAX_HEADER_LENGTH, cached


def test_full_cache_begins_anew() -> None:
    cache = {str(number): number for number in range(MAX_ENTRIES)}

    assert cached(cache, "header", len) == 6
    assert cache == {"header": 6}


def test_long_header_is_not_kept() -> None:
    cache: dict[str, int] = {}

    assert cached(cache, "x" * (MAX_HEADER_LENGTH + 1), len) == MAX_HEADER_LENGTH + 1
    assert cache == {}
