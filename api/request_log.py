"""The log of API requests that a company reads in the cabinet: a request only appends to a list.

A thread writes them together, once a second. Requests that do not fit, or that the database cannot
take, are dropped and counted: the log must never slow down a request or make it fail.
"""

import threading
import time
from collections import Counter, deque
from collections.abc import Sequence
from math import ceil
from multiprocessing.util import Finalize
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection

from accounts.models import Mode
from catalogue.errors import Error
from parsing.characters import stored_text
from storage.statements import sql_files
from storage.statements.json_rows import dump_rows, json_rows
from storage.statements.queries import execute
from storage.store_errors import write_together

log = structlog.get_logger(__name__)
CAPACITY = 20_000  # requests per process
BATCH_SIZE = 2_000  # requests per statement
INTERVAL = 1.0  # seconds
TEST_CAPACITY = 50_000  # requests with a company's test keys, which are free, per process and day
DAY = 86_400  # seconds
MAX_FIELDS = 20
FIELD_LENGTH = 40  # characters
METHOD_LENGTH = 7  # characters

_INSERT = sql_files.fill(
    sql_files.read("api/request_log.sql"),
    requests=json_rows(
        "requests",
        "company_id bigint, api_key_id bigint, mode text, request_id text,"
        " created_at double precision, method text, path text, status smallint, code text,"
        " fields json, duration int, phone text, message_id uuid",
    ),
)

# The BRIN index by time finds blocks, not rows: the purge reads whole blocks, oldest first.
_DELETE = """
DELETE FROM api_apirequest WHERE ctid = ANY(ARRAY(
  SELECT ctid FROM api_apirequest
  WHERE created_at < now() - make_interval(days => %s) LIMIT %s))
"""


class Entry(NamedTuple):
    """An answered request; its phone is masked."""

    company_id: int
    api_key_id: int
    mode: str
    request_id: str
    created_at: float  # Unix time
    method: str
    path: str
    status: int
    code: str
    fields: Sequence[str]
    duration: int  # ms
    phone: str
    message_id: UUID | None


class RequestBuffer:
    """The requests of this process that are not in the database yet."""

    def __init__(self) -> None:
        self.reset()

    def reset(self) -> None:
        self._entries: deque[Entry] = deque()
        self._over_limit: set[tuple[int, int, str]] = set()  # since the last batch
        self._day = 0
        self._test_requests = Counter[int]()  # of that day, by company
        self._starting = threading.Lock()
        self._writing = threading.Lock()
        self._is_started = False
        self._dropped = 0

    def add(self, entry: Entry) -> None:
        if not self._is_started:
            self._start()
        if not self._should_log(entry):
            return
        if len(self._entries) >= CAPACITY or self._exceeds_test_capacity(entry):
            self._dropped += 1
        else:
            self._entries.append(_fit_columns(entry))

    def _should_log(self, entry: Entry) -> bool:
        """Whether to log the request: those over the rate limit, whose number is unbounded, are
        logged once per key and call in a batch.
        """
        if entry.code != Error.RATE_LIMITED.code:
            return True
        key_and_call = (entry.company_id, entry.api_key_id, entry.path)  # key 0: an identity server
        is_first = key_and_call not in self._over_limit
        self._over_limit.add(key_and_call)
        return is_first

    def _exceeds_test_capacity(self, entry: Entry) -> bool:
        if entry.mode != Mode.TEST:
            return False
        if self._day != (day := int(entry.created_at // DAY)):
            self._day = day
            self._test_requests = Counter()
        self._test_requests[entry.company_id] += 1
        return self._test_requests[entry.company_id] > TEST_CAPACITY

    def flush(self) -> None:
        """Writes the requests buffered so far."""
        with self._writing:
            dropped, self._dropped = self._dropped, 0
            if dropped:
                log.warning("requests_not_logged", count=dropped, error="too many at once")
            self._over_limit.clear()
            for _ in range(ceil(len(self._entries) / BATCH_SIZE)):
                size = min(len(self._entries), BATCH_SIZE)
                _write([self._entries.popleft() for _ in range(size)])

    def _start(self) -> None:
        """Starts the thread on first use: servers fork workers after importing this module."""
        with self._starting:
            if self._is_started:
                return
            threading.Thread(target=self._run, name="request-log", daemon=True).start()
            Finalize(None, self.flush, exitpriority=1)
            self._is_started = True

    def _run(self) -> None:
        while True:
            time.sleep(INTERVAL)
            self.flush()


def _write(entries: Sequence[Entry]) -> None:
    try:
        write_together(entries, _insert, _refuse)
    except DatabaseError as error:
        log.warning("requests_not_logged", count=len(entries), error=type(error).__name__)
    finally:
        connection.close()


def _insert(entries: Sequence[Entry]) -> None:
    execute(_INSERT, {"requests": dump_rows([_column_values(entry) for entry in entries])})


def _refuse(entry: Entry, error: Exception) -> None:
    log.error("request_not_logged", request_id=entry.request_id, error=type(error).__name__)


def _fit_columns(entry: Entry) -> Entry:
    """Fits values that clients choose into the columns: methods, names of fields and parameters."""
    fields = [stored_text(name, FIELD_LENGTH) for name in entry.fields[:MAX_FIELDS]]
    return entry._replace(method=stored_text(entry.method, METHOD_LENGTH), fields=fields)


def _column_values(entry: Entry) -> dict[str, object]:
    return entry._asdict() | {"api_key_id": entry.api_key_id or None}


def is_on() -> bool:
    return settings.REQUEST_LOG_DAYS > 0


buffer = RequestBuffer()


def purge(limit: int) -> int:
    """Deletes requests older than REQUEST_LOG_DAYS."""
    return execute(_DELETE, [settings.REQUEST_LOG_DAYS, limit])
