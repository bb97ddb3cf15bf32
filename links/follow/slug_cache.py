"""What this process knows of slugs, for a second; concurrent misses of a slug share one load."""

import time
from collections.abc import Callable
from concurrent.futures import Future

from links.follow.cached_row import Resolution

TTL = 1.0  # seconds
MAX_SLUGS = 50_000
SINGLE_FLIGHT_TIMEOUT = 2.0  # seconds to wait for another thread's load of the same slug

SlugKey = str | tuple[int, str]  # a slug of our own host, or of a company's


class SlugCache:
    def __init__(self) -> None:
        # With the moment each entry expires, by the steady clock.
        self.entries: dict[SlugKey, tuple[float, Resolution]] = {}
        self._flights: dict[SlugKey, Future[Resolution]] = {}

    def load(self, key: SlugKey, read: Callable[[], Resolution]) -> Resolution:
        """Single flight: of all threads that ask at once, one reads."""
        mine: Future[Resolution] = Future()
        flight = self._flights.setdefault(key, mine)
        if flight is not mine:
            return flight.result(SINGLE_FLIGHT_TIMEOUT)
        try:
            resolution = read()
            if self._flights.get(key) is mine:  # nothing has been invalidated since the read began
                self._keep(key, resolution)
            mine.set_result(resolution)
        except BaseException as error:
            mine.set_exception(error)
            raise
        finally:
            if self._flights.get(key) is mine:
                self._flights.pop(key, None)
        return resolution

    def _keep(self, key: SlugKey, resolution: Resolution) -> None:
        if len(self.entries) >= MAX_SLUGS:
            self.entries.clear()
        self.entries[key] = time.monotonic() + TTL, resolution

    def discard(self, key: SlugKey) -> None:
        self.entries.pop(key, None)

    def clear(self) -> None:
        """Drops reads in flight, too: they may have begun before the change."""
        self._flights.clear()
        self.entries.clear()
