"""A process's cache of the database: fresh, while it is away, and by key."""

import threading
import time

import pytest
from django.db import DatabaseError, InterfaceError
from django.db.backends.utils import CursorWrapper
from psycopg_pool import PoolTimeout

from storage import process_cache
from storage.process_cache import KeyedCache, SnapshotCache
from tests.api.races import at_once
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db


class Table:
    """A table that counts its reads, and raises while it is unavailable."""

    def __init__(self) -> None:
        self.reads = 0
        self.is_away = False
        self.error: type[Exception] = DatabaseError

    def __call__(self, _cursor: CursorWrapper) -> int:
        self.reads += 1
        if self.is_away:
            raise self.error
        return self.reads


class Copy:
    def __init__(self) -> None:
        self.value: int | None = None

    def read(self) -> int | None:
        return self.value

    def write(self, value: int, /) -> None:
        self.value = value


def test_snapshot_is_read_again_once_it_is_stale() -> None:
    cache = SnapshotCache("test", Table(), 0, interval=60)

    values = [cache.get(), cache.get()]
    cache.invalidate()

    assert (values, cache.get()) == ([1, 1], 2)


@pytest.mark.parametrize("error", [DatabaseError, InterfaceError, PoolTimeout])
def test_snapshot_stays_in_force_while_the_database_is_down(
    monkeypatch: pytest.MonkeyPatch, error: type[Exception]
) -> None:
    monkeypatch.setattr(process_cache, "RETRY_DELAY", 60.0)
    table = Table()
    table.error = error
    cache = SnapshotCache("test", table, 0, interval=0)
    cache.get()

    table.is_away = True
    cache.refresh()
    values = [cache.get(), cache.get()]

    assert values == [1, 1]
    assert table.reads == 3  # after a failure it is left alone for a while


def test_read_reports_an_unavailable_database() -> None:
    table = Table()
    table.is_away = True

    with pytest.raises(DatabaseError):
        SnapshotCache("test", table, 0).read()


def test_first_read_needs_the_database_or_a_copy() -> None:
    table = Table()
    copy = Copy()
    SnapshotCache("test", table, 0, copy=copy).ensure_loaded()
    table.is_away = True
    second = SnapshotCache("test", table, 0, copy=copy)

    second.ensure_loaded()

    assert (second.value, second.is_loaded) == (1, True)
    with pytest.raises(DatabaseError):
        SnapshotCache("test", table, 0).ensure_loaded()


def test_threads_share_the_first_read() -> None:
    table = Table()
    cache = SnapshotCache("test", table, 0)

    at_once([cache.ensure_loaded] * 5)

    assert table.reads == 1


def test_requests_use_keys_kept_fresh_by_thread() -> None:
    readers = set[str]()

    def read(_cursor: CursorWrapper) -> int:
        readers.add(threading.current_thread().name)
        return 1

    cache = SnapshotCache("keeper", read, 0, interval=0.01)
    thread = cache.keep_fresh()
    wait_until(lambda: cache.is_loaded and not cache.is_stale)
    for _ in range(50):
        cache.get()
        time.sleep(0.001)
    thread.stop()

    assert readers == {"keeper"}


def test_entry_expires_by_the_time_of_its_read() -> None:
    cache = KeyedCache[str, int](ttl=2.0, max_entries=10)
    read_at = time.monotonic() - 1.5

    cache.store({"a": 1}, read_at)

    assert cache.entries == {"a": (read_at + 2.0, 1)}
