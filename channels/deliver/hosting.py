"""A provider that lives in a process of its own: one process to an account, and an orderly end."""

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from zlib import crc32

import psycopg
import structlog
from django.db import connection

from channels.deliver.dispatcher import Dispatcher
from channels.outcomes import receipts
from channels.providers.hosted_provider import HostedProvider, Report

log = structlog.get_logger(__name__)

LOCK_CLASS_ID = 0x6B76_686F  # the first half of an account's advisory lock; its name is the other
LOCK_CHECK_INTERVAL = 5.0  # seconds between two looks whether the lock is still ours

_TRY_LOCK = "SELECT pg_try_advisory_lock(%s, %s)"


class AccountTakenError(Exception):
    """Another process is this account's."""


def host(provider: HostedProvider) -> None:
    """Run until SIGTERM or SIGINT, then stop claiming, finish the calls under way, and unbind.

    Raises AccountTakenError when another process hosts the account, or took it over while
    PostgreSQL was away.
    """
    dispatcher = Dispatcher(provider)
    lock = AccountLock(provider.name)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: dispatcher.stop())
    with lock.watched(dispatcher.stop):
        provider.start(keep=partial(_store_reports, provider.name), opened=dispatcher.wake)
        try:
            dispatcher.run()
        finally:
            provider.stop()


def _store_reports(account: str, reports: list[Report]) -> None:
    """On a thread of the provider's, whose connection goes back to the pool each time."""
    try:
        receipts.store(account, reports)
    finally:
        connection.close()


class AccountLock:
    """Held by a session of PostgreSQL's, and so gone with the process, however it ends."""

    def __init__(self, account: str) -> None:
        name = crc32(account.encode()) & 0x7FFF_FFFF
        self._key = (LOCK_CLASS_ID, name)
        self._held: psycopg.Connection | None = None
        self.is_lost = False

    @contextmanager
    def watched(self, lost: Callable[[], None]) -> Iterator[None]:
        """Raises AccountTakenError, now or, after `lost` was called, at the end."""
        self._take()
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended, lost), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            self._drop()
        if self.is_lost:
            raise AccountTakenError

    def _watch(self, ended: threading.Event, lost: Callable[[], None]) -> None:
        while not ended.wait(LOCK_CHECK_INTERVAL):
            try:
                self._look()
            except psycopg.Error as error:  # PostgreSQL is away: nobody can take the lock there
                log.warning("lock_not_seen", error=type(error).__name__)
                self._drop()
            except AccountTakenError:
                self.is_lost = True
                lost()
                return

    def _look(self) -> None:
        if self._held is None:
            self._take()
        else:
            self._held.execute("SELECT 1")

    def _take(self) -> None:
        """On a connection of its own: one of the pool would be lent to others with the lock on."""
        held = psycopg.connect(**connection.get_connection_params(), autocommit=True)
        row = held.execute(_TRY_LOCK, self._key).fetchone()
        if not (row and row[0]):
            held.close()
            raise AccountTakenError
        self._held = held

    def _drop(self) -> None:
        if self._held is not None:
            self._held.close()
            self._held = None
