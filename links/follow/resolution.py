"""From a slug to where it leads.

A link is looked for in this process (a second old at most), in Redis
(`links.follow.redis_cache`), then in PostgreSQL.

Expiry and stops are judged on every hit, wherever it was found.
"""

import os
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future
from typing import Any

from django.db import connection
from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisSilentError
from redis.exceptions import RedisError

from config.borrowed_connection import lent_connection
from config.redis_client import patient_redis, redis_client
from links.addresses import short_hosts, slugs
from links.follow import cached_row, redis_cache
from links.follow.cached_row import GONE, ONCE_GONE, UNKNOWN, Dead, Expired, Found, Outcome, Row
from links.follow.stop_cache import Stops
from links.models import Link

__all__ = ["GONE", "ONCE_GONE", "UNKNOWN", "Dead", "Directory", "Expired", "Found", "Outcome"]

FRESH = 1.0  # seconds an answer lives in this process
FRESH_SLUGS = 50_000
BACK_OFF = 1.0
REREAD = 1.0  # seconds between readings of what is stopped: a change may be told by nobody
AWAY = 0.6  # seconds between tries to hear Redis, and readings of what is stopped meanwhile
SILENCE = 2.0  # seconds without a sign of Redis after which it is away
CHANGES = "links"  # the channel that says: forget what you hold
STOPPED = b"stops"  # said there: read anew what is stopped
SQL_READERS = 4  # of the process's pool of connections; the rest are for those who write
SQL_PATIENCE = 1.0
FLIGHT = 2.0  # seconds to wait for another's search for the same slug

Asked = str | tuple[int, str]  # a slug of our own host, or of a company's


class Directory:
    """What this process knows of slugs, and how it learns it."""

    def __init__(self, stops: Stops | None = None) -> None:
        self._stops = stops or _stops
        self.reset()

    def reset(self) -> None:
        """A forked child starts anew: it inherits no thread, and locks in any state."""
        self._fresh: dict[Asked, tuple[float, Outcome]] = {}
        self._flights: dict[Asked, Future[Outcome]] = {}
        self._redis_after = 0.0
        self._untold: set[str] = set()
        self._readers = threading.BoundedSemaphore(SQL_READERS)
        self._starting = threading.Lock()
        self._is_listening = False

    def resolve(self, slug: str, host_id: int | None = None) -> Outcome:
        """Where the slug leads now under our own host, or a company's; raises when no store can
        tell.
        """
        asked = slug if host_id is None else (host_id, slug)
        entry = self._fresh.get(asked)
        if entry is None or entry[0] <= time.monotonic():
            return self._look_up(slug, host_id)
        return self._now(entry[1])

    def _now(self, outcome: Outcome) -> Outcome:
        if not isinstance(outcome, Found):
            return outcome
        known = self._stops.known
        if known and (outcome.company_id in known or outcome.batch in known):
            return outcome.gone()
        if outcome.expires_at and outcome.expires_at <= time.time():
            return outcome.expired()
        return outcome

    def _look_up(self, text: str, host_id: int | None) -> Outcome:
        slug = slugs.repair(text)
        if slug is None:
            return UNKNOWN
        if slug != text:
            return self.resolve(slug, host_id)
        if not self._is_listening:
            self._start()
        self._stops.ensure()
        return self._now(self._find(slug, host_id))

    def _find(self, slug: str, host_id: int | None) -> Outcome:
        """However many ask at once, one goes and looks."""
        asked = slug if host_id is None else (host_id, slug)
        mine: Future[Outcome] = Future()
        flight = self._flights.setdefault(asked, mine)
        if flight is not mine:
            return flight.result(FLIGHT)
        try:
            row = self._row(slug, host_id)
            outcome = row.outcome() if row else UNKNOWN
            if self._flights.get(asked) is mine:  # nothing has changed since we asked
                self._keep(asked, outcome)
            mine.set_result(outcome)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            if self._flights.get(asked) is mine:
                self._flights.pop(asked, None)
        return outcome

    def _keep(self, asked: Asked, outcome: Outcome) -> None:
        if len(self._fresh) >= FRESH_SLUGS:
            self._fresh.clear()
        self._fresh[asked] = time.monotonic() + FRESH, outcome

    def _drop(self) -> None:
        """Nothing that was asked before this moment is believed after it."""
        self._flights.clear()
        self._fresh.clear()

    def _row(self, slug: str, host_id: int | None) -> Row | None:
        exact, folded = short_hosts.key(host_id, slug), short_hosts.key(host_id, slug.lower())
        keys = list(dict.fromkeys((exact, folded)))
        known = self._ask_redis(keys)
        if known.get(exact) is None and len(known) < len(keys):
            known = self._ask_sql(keys)
            self._tell_redis(known)
        alias = known.get(folded)
        return known[exact] or (alias if alias and alias.is_alias else None)

    def _ask_redis(self, keys: list[str]) -> dict[str, Row | None]:
        if time.monotonic() < self._redis_after:
            return {}
        try:
            return redis_cache.read(keys)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF
            return {}

    def _ask_sql(self, keys: list[str]) -> dict[str, Row | None]:
        if not self._readers.acquire(timeout=SQL_PATIENCE):
            raise TimeoutError("every reader of links is busy")
        try:
            with lent_connection(), connection.cursor() as cursor:
                cursor.execute(cached_row.SELECT, [keys[0], keys[-1]])
                found = {key: cached_row.from_sql(rest) for key, *rest in cursor.fetchall()}
        finally:
            self._readers.release()
        return {key: found.get(key) for key in keys}

    def _tell_redis(self, known: Mapping[str, Row | None]) -> None:
        if time.monotonic() < self._redis_after:
            return
        try:
            redis_cache.add(known)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF

    def remember(self, *links: Link) -> None:
        """Call after links with a name of their own are committed: somebody may have asked for
        that name before, and been told 404. Their first visitors need no SQL. Never raises.
        """
        try:
            if redis_cache.remember(links):  # others may still hold what they were told too early
                redis_client().publish(CHANGES, b"")
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF
        for link in links:
            for slug in (link.slug, link.slug.lower()):
                self._fresh.pop(slug if link.host_id is None else (link.host_id, slug), None)

    def doubt(self, *links: Link) -> None:
        """Call before a change to links is committed: a process that dies between its commit and
        `forget` leaves no old row in Redis. Never raises.
        """
        try:
            redis_cache.doubt(links)
        except (RedisError, OSError):
            self._redis_after = time.monotonic() + BACK_OFF

    def forget(self, *links: Link) -> None:
        """Call after a change to links is committed. Never raises; repeated until it is told."""
        self._untold.update(link.key for link in links)
        is_told = self._tell_changes()
        self._drop()  # after Redis, or a reader would fetch the old row once more
        if not is_told:
            self._start()

    def restop(self) -> None:
        """Call after a change to what is stopped is committed. Never raises; repeated likewise."""
        self._stops.refresh()
        self._untold.add("")
        if not self._tell_changes():
            self._start()

    def _tell_changes(self) -> bool:
        keys = list(self._untold)
        if not keys:
            return True
        try:
            with redis_client().pipeline(transaction=False) as pipe:
                redis_cache.mark(pipe, list(filter(None, keys)))
                pipe.publish(CHANGES, STOPPED if "" in keys else b"")
                pipe.execute()
        except (RedisError, OSError):
            return False
        self._untold.difference_update(keys)
        return True

    def _start(self) -> None:
        with self._starting:
            if not self._is_listening:
                self._is_listening = True
                threading.Thread(target=self._listen, name="links", daemon=True).start()

    def _listen(self) -> None:
        while True:
            client = patient_redis()
            try:
                with PubSub(client.connection_pool) as changes:
                    changes.subscribe(CHANGES)
                    self._hear(changes)
            except (RedisError, OSError):
                pass
            self._stops.refresh()
            time.sleep(AWAY)

    def _hear(self, changes: PubSub) -> None:
        """Until there is a change that Redis cannot be told, or no sign of it."""
        heard_at = read_at = time.monotonic()
        while self._tell_changes():
            message = changes.get_message(timeout=BACK_OFF)
            if message:
                heard_at = time.monotonic()
                self._heed(message)
            elif time.monotonic() - heard_at > SILENCE:
                raise RedisSilentError("no sign of Redis")
            else:
                changes.ping()
            if time.monotonic() - read_at >= REREAD:
                self._stops.refresh()
                read_at = time.monotonic()

    def _heed(self, message: Mapping[str, Any]) -> None:
        if message["type"] == "message":
            self._drop()
        if message["type"] == "subscribe" or message["data"] == STOPPED:
            self._stops.refresh()


_stops = Stops()
os.register_at_fork(after_in_child=_stops.reset)
_directory = Directory()
os.register_at_fork(after_in_child=_directory.reset)
resolve, remember = _directory.resolve, _directory.remember
doubt, forget, restop = _directory.doubt, _directory.forget, _directory.restop
