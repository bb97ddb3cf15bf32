"""Buffers clicks on short links in the process, and flushes them to a Redis stream in batches.

A click reaches Redis within a quarter of a second, or is lost if the process is killed: counting
must never slow or fail a redirect. Only values derived from the visitor's headers are kept: kind,
device, referring host. No header and no address is stored, so a person who opens a link again
counts again: a limit by visitor would need the visitor's identity. Only clicks that people cannot
make are left out: a loop on one connection makes 20,000 clicks a second, at 180 bytes of disk each.

An entry of the stream is `id` and `batch`, JSON of rows: link id in hexadecimal, kind, Unix ms,
referring host, device, country. Consumers ignore an `id` that they have seen.
"""

import os
import threading
import time
from collections import Counter, deque
from collections.abc import Mapping
from ipaddress import ip_network
from multiprocessing.util import Finalize
from typing import Any
from uuid import uuid4

import orjson
import structlog
from redis.exceptions import RedisError

from links.clicks import bot_detection, visit_details
from links.clicks.bot_detection import VisitorKind
from parsing.text_cache import text_cache
from processes.server.client_ip import client_ip, client_network
from storage.redis_client import blocking_redis_client

STREAM = "clicks"
STREAM_LENGTH = 1_000_000  # entries, one batch each
CAPACITY = 100_000  # clicks a process buffers while Redis is down
BATCH_SIZE = 2_000  # clicks in one entry
FLUSH_INTERVAL = 0.25  # seconds
RETRY_DELAY = 1.0
REPORT_INTERVAL = 60.0
# Clicks of one network in a minute that a process counts, for all links: a carrier's customers
# share one address. Beyond that each link counts once, up to as many links as given here.
NETWORK_CLICKS = 300
NETWORK_LINKS = 2_000
MAX_NETWORKS = 20_000

log = structlog.get_logger(__name__)


# Link id, kind, Unix ms, referrer, device, country.
BufferedClick = tuple[str, VisitorKind, int, str, str, str]


class Networks:
    """The clicks of each network in the current minute; addresses are not kept longer."""

    def __init__(self) -> None:
        self._minute = 0
        self._clicks = Counter[str]()
        self._links = set[tuple[str, str]]()

    def is_loop(self, link_id: str, environ: Mapping[str, Any]) -> bool:
        """Whether the visitor's network has clicked more often than people do.

        Its first click on each further link still counts: it may be a neighbour's, and prove that a
        message arrived.
        """
        network = _public_network(client_ip(environ))
        if not network:
            return False
        minute = int(time.time() // 60)
        if minute != self._minute or len(self._clicks) >= MAX_NETWORKS:
            self._minute = minute
            self._clicks = Counter()
            self._links = set()
        self._clicks[network] += 1
        if self._clicks[network] <= NETWORK_CLICKS:
            return False
        if (network, link_id) in self._links or len(self._links) >= NETWORK_LINKS:
            return True
        self._links.add((network, link_id))
        return False


@text_cache(4096)
def _public_network(ip: str) -> str:
    """The visitor's network; empty for our own addresses.

    These are a measurement's, or those of a proxy that hides everybody.
    """
    network = client_network(ip)
    return network if network and ip_network(network).is_global else ""


class ClickBuffer:
    """Clicks of this process that are not in Redis yet."""

    def __init__(self, capacity: int = CAPACITY) -> None:
        self._capacity = capacity
        self.reset()

    def reset(self) -> None:
        """Empties the buffer, as in a forked child: its parent flushes the inherited clicks."""
        self._clicks: deque[BufferedClick] = deque(maxlen=self._capacity)
        self._entry: dict[Any, Any] | None = None
        self._flushing = threading.Lock()
        self._starting = threading.Lock()
        self._is_started = False
        self._networks = Networks()
        self._dropped = 0
        self._left_out = 0
        self._reported_at = 0.0

    def add(self, link_id: str, environ: Mapping[str, Any]) -> None:
        """Adds a click; never raises: the visitor is redirected even if it cannot be counted."""
        try:
            self._add(link_id, environ)
        except Exception:
            if not self._dropped:  # logged once per report, not per visitor
                log.exception("click_not_buffered")
            self._dropped += 1

    def _add(self, link_id: str, environ: Mapping[str, Any]) -> None:
        if not self._is_started:
            self._start()
        if self._networks.is_loop(link_id, environ):
            self._left_out += 1
            return
        if len(self._clicks) == self._capacity:
            self._dropped += 1  # the deque drops its oldest click
        self._clicks.append(
            (
                link_id,
                bot_detection.kind_of(environ),
                int(time.time() * 1000),
                visit_details.referrer_of(environ),
                visit_details.device_of(environ),
                visit_details.country_of(environ),
            )
        )

    def flush(self) -> bool:
        """Writes all clicks to the stream; returns False if Redis fails."""
        with self._flushing:
            # A fixed number of entries: flushing until empty would write tiny entries under load.
            entries = -(-len(self._clicks) // BATCH_SIZE) + (self._entry is not None)
            return all(self._write_entry() for _ in range(entries))

    def _write_entry(self) -> bool:
        # Kept until Redis confirms it: an entry without a reply is sent again with the same id.
        self._entry = self._entry or self._next_entry()
        try:
            blocking_redis_client().xadd(STREAM, self._entry, maxlen=STREAM_LENGTH)
        except (RedisError, OSError):
            return False
        self._entry = None
        return True

    def _next_entry(self) -> dict[Any, Any]:
        batch = [self._clicks.popleft() for _ in range(min(len(self._clicks), BATCH_SIZE))]
        return {"id": uuid4().hex, "batch": orjson.dumps(batch)}

    def _start(self) -> None:
        """Starts lazily, because a server forks its workers after this module is imported."""
        with self._starting:
            if self._is_started:
                return
            threading.Thread(target=self._run, name="clicks", daemon=True).start()
            self._is_started = True
            # Unlike atexit handlers, these also run in forked worker processes.
            Finalize(None, self.flush, exitpriority=1)

    def _run(self) -> None:
        while True:
            time.sleep(FLUSH_INTERVAL if self.flush() else RETRY_DELAY)
            now = time.monotonic()
            if now < self._reported_at + REPORT_INTERVAL:
                continue
            self._reported_at = now
            if self._dropped:
                log.warning("clicks_dropped", count=self._dropped)
            if self._left_out:
                log.info("clicks_of_loops_left_out", count=self._left_out)
            self._dropped = 0
            self._left_out = 0


_buffer = ClickBuffer()
os.register_at_fork(after_in_child=_buffer.reset)
add = _buffer.add
