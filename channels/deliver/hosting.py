"""Hosts a provider account in its own process, with graceful shutdown."""

import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from functools import partial
from zlib import crc32

import psycopg
import structlog
from django.db import connection

from channels.deliver.dispatcher import Dispatcher
from channels.providers.base import HostedProvider
from channels.providers.inbound import InboundEvents
from storage import sessions

log = structlog.get_logger(__name__)

# The first key of the advisory lock; a hash of the account name is the second.
LOCK_CLASS_ID = 0x6B76_686F
LOCK_CHECK_INTERVAL = 5.0  # seconds between checks that the lock is still ours

HandleEvents = Callable[[str, Sequence[InboundEvents]], None]

_TRY_LOCK = "SELECT pg_try_advisory_lock(%s, %s)"
_UNLOCK = "SELECT pg_advisory_unlock(%s, %s)"


class AccountTakenError(Exception):
    """Another process hosts this account."""


def host(provider: HostedProvider, *, handle: HandleEvents) -> None:
    """Hosts an account until SIGTERM or SIGINT; then finishes the running calls, and unbinds.

    `handle` gets the account's name and the inbound events.

    Raises AccountTakenError if another process hosts the account, or took it over while PostgreSQL
    was down.
    """
    dispatcher = Dispatcher(provider)
    lock = AccountLock(provider.name)
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: dispatcher.stop())
    with lock.held(dispatcher.stop):
        provider.start(store=partial(_handle, handle, provider.name), on_open=dispatcher.wake)
        # The loop has its own thread, because signals interrupt the main one: there a handler could
        # interrupt the wait for the very event that it sets, and deadlock.
        loop = threading.Thread(target=dispatcher.run, name="delivery")
        try:
            loop.start()
            loop.join()
        finally:
            provider.stop()


def _handle(handle: HandleEvents, account: str, batch: Sequence[InboundEvents]) -> None:
    """Handles events on a thread of the provider; returns its connection to the pool."""
    try:
        handle(account, batch)
    finally:
        connection.close()


class AccountLock:
    """A session-level advisory lock, which PostgreSQL releases however the process ends."""

    def __init__(self, account: str) -> None:
        name = crc32(account.encode()) & 0x7FFF_FFFF
        self._key = (LOCK_CLASS_ID, name)
        self._session: psycopg.Connection | None = None
        self.is_lost = False

    @contextmanager
    def held(self, on_lost: Callable[[], None]) -> Iterator[None]:
        """Holds the lock; raises AccountTakenError now, or at the end if `on_lost` was called."""
        self._take()
        ended = threading.Event()
        thread = threading.Thread(target=self._watch, args=(ended, on_lost), daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()
            # Unlocks at once: the server notices a closed session only a moment later.
            if self._session is not None:
                with suppress(psycopg.Error):
                    self._session.execute(_UNLOCK, self._key)
            self._drop()
        if self.is_lost:
            raise AccountTakenError

    def _watch(self, ended: threading.Event, on_lost: Callable[[], None]) -> None:
        while not ended.wait(LOCK_CHECK_INTERVAL):
            try:
                if self._session is None:
                    self._take()
                else:
                    self._session.execute("SELECT 1")
            except psycopg.Error as error:  # PostgreSQL is down: nobody can take the lock
                log.warning("account_lock_not_checked", error=type(error).__name__)
                self._drop()
            except AccountTakenError:
                self.is_lost = True
                on_lost()
                return

    def _take(self) -> None:
        """Takes the lock on its own session: a pooled session would pass the lock to others."""
        session = sessions.connect()
        row = session.execute(_TRY_LOCK, self._key).fetchone()
        if not (row and row[0]):
            session.close()
            raise AccountTakenError
        self._session = session

    def _drop(self) -> None:
        if self._session is not None:
            self._session.close()
            self._session = None
