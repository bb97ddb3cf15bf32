"""Hears through the replica that links or stops have changed, and keeps its copies read."""

import threading
import time
from typing import Any

from redis.client import PubSub
from redis.exceptions import ConnectionError as RedisSilentError
from redis.exceptions import RedisError

from links.edge.replica import Replica
from links.follow.change_messages import CHANNEL, STOPS_CHANGED
from links.follow.slug_cache import SlugCache

POLL_TIMEOUT = 0.5  # seconds
SILENCE_TIMEOUT = 2.0  # seconds without a reply after which the replica counts as away
REFRESH_INTERVAL = 1.0  # seconds
RECONNECT_DELAY = 0.6


class ReplicaFeed:
    def __init__(self, cache: SlugCache, replica: Replica) -> None:
        self._cache, self._replica = cache, replica
        self._starting = threading.Lock()
        self.is_listening = False

    def start(self) -> None:
        with self._starting:
            if not self.is_listening:
                self.is_listening = True
                threading.Thread(target=self._listen, name="links", daemon=True).start()

    def _listen(self) -> None:
        while True:
            try:
                with PubSub(self._replica.blocking.connection_pool) as subscription:
                    subscription.subscribe(CHANNEL)
                    self._poll(subscription)
            except (RedisError, OSError):
                pass
            self._refresh()
            time.sleep(RECONNECT_DELAY)

    def _poll(self, subscription: PubSub) -> None:
        """Raises when the replica is silent."""
        heard_at = refreshed_at = time.monotonic()
        while True:
            message: Any = subscription.get_message(timeout=POLL_TIMEOUT)
            if message:
                heard_at = time.monotonic()
            elif time.monotonic() - heard_at > SILENCE_TIMEOUT:
                raise RedisSilentError("no sign of the replica")
            else:
                subscription.ping()
            if message and message["type"] in ("message", "subscribe"):
                self._cache.clear()
            is_about_stops = message and message["data"] == STOPS_CHANGED
            if is_about_stops or time.monotonic() - refreshed_at >= REFRESH_INTERVAL:
                self._refresh()
                refreshed_at = time.monotonic()

    def _refresh(self) -> None:
        was_fresh = self._replica.is_fresh
        self._replica.refresh()
        if was_fresh != self._replica.is_fresh:
            self._cache.clear()  # which rows it holds depends on who judged the stops
