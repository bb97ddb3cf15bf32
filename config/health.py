"""Liveness and readiness of a process, for load balancers. Responses contain no secrets."""

import threading
import time
from concurrent.futures import Future
from contextlib import suppress
from typing import Any

import redis
from django.conf import settings
from django.db import Error as DatabaseError
from django.db import connection, transaction
from django.http import HttpRequest, JsonResponse
from psycopg import errors
from psycopg_pool import PoolTimeout

from channels.deliver.heartbeats import HeartbeatWriter
from channels.waiting import outcome_signals
from processes.process_state import on_reset
from processes.server import probe
from processes.server.client_ip import client_ip
from storage.primary_connection import NotPrimaryError
from storage.redis_client import raise_if_demoted, redis_client
from storage.schema_changes.runs import unapplied_migrations
from storage.sessions import pooled_connection

FRESH_SECONDS = 3.0  # for which a report is reused
TIMEOUT = 2.0  # seconds; load balancers give up soon after
NO_ANSWER = f"no answer within {TIMEOUT:g} s"
OK = "ok"
Report = dict[str, str]  # part → "ok", or the problem

_LIMITS = f"SET LOCAL statement_timeout = {int(TIMEOUT * 1000)}; SET LOCAL work_mem = '64kB'"
# Spills 100 kB into a temporary file. A heartbeat alone would not notice a full disk: rows that fit
# into existing pages can still be updated.
_NEEDS_ROOM = "SELECT count(*) FROM generate_series(1, 10000)"
# Databases have their own lists of time zones; some lack old names such as Asia/Calcutta.
_NEEDS_TIME_ZONE = "SELECT now() AT TIME ZONE %s"


class DatabaseCheck:
    """Checks the database, one check at a time.

    So a database that hangs blocks one thread, not one per probe.
    """

    def __init__(self) -> None:
        self._starting = threading.Lock()
        self._report: Report = {}
        self._done: Future[None] = Future()
        self._begun_at = self._stale_at = float("-inf")

    def report(self) -> Report:
        """The last report if it is fresh, else a new one; waits for `TIMEOUT` at most."""
        with self._starting:
            if time.monotonic() >= self._stale_at:
                self._begin()
            report = self._report
            future = self._done
            begun_at = self._begun_at
        with suppress(TimeoutError):
            future.result(max(0.0, begun_at + TIMEOUT - time.monotonic()))
        parts = {"database": NO_ANSWER} | report
        return parts if parts["database"] != OK else {"writes": NO_ANSWER} | parts

    def forget(self) -> None:
        self._stale_at = float("-inf")

    def _begin(self) -> None:
        self._report = {}
        self._done = Future()
        self._begun_at = time.monotonic()
        self._stale_at = float("inf")
        arguments = (self._report, self._done)
        threading.Thread(target=self._run, args=arguments, name="readiness", daemon=True).start()

    def _run(self, report: Report, future: "Future[None]") -> None:
        try:
            with pooled_connection():
                report["database"] = _migration_status()
                if report["database"] == OK:
                    report["writes"] = _write_heartbeat()
        finally:
            self._stale_at = time.monotonic() + FRESH_SECONDS
            future.set_result(None)


def _migration_status() -> str:
    try:
        missing = unapplied_migrations()
    except (DatabaseError, PoolTimeout):
        return "unavailable"
    return f"{len(missing)} migrations are not applied" if missing else OK


def _write_heartbeat() -> str:
    """Writes this process's heartbeat and a temporary file, which needs disk space."""
    begun_at = time.monotonic()
    try:
        with transaction.atomic(), connection.cursor() as cursor:
            cursor.execute(_LIMITS)
            HeartbeatWriter("web").write(outcome_signals.details())
            cursor.execute(_NEEDS_ROOM)
            cursor.execute(_NEEDS_TIME_ZONE, [settings.TIME_ZONE])
    except (DatabaseError, PoolTimeout) as error:
        return _failure(error.__cause__ or error)
    # A commit that waits for a standby may succeed only after the time-out.
    return OK if time.monotonic() < begun_at + TIMEOUT else NO_ANSWER


def _failure(error: BaseException) -> str:
    match error:
        case NotPrimaryError():
            return "refused: the database is read-only"
        case errors.DiskFull():
            return "refused: the database's disk is full"
        case errors.InvalidParameterValue():
            return f"failed: the database has no time zone {settings.TIME_ZONE}"
        case errors.LockNotAvailable() | errors.QueryCanceled():
            return NO_ANSWER
    return f"failed: {getattr(error, 'sqlstate', None) or type(error).__name__}"


database = DatabaseCheck()
on_reset(database.forget)


def livez(request: HttpRequest) -> JsonResponse:
    """Liveness: the process responds. Checks no dependency."""
    body: dict[str, Any] = {"status": "ok"}
    if probe.is_signed(request.META):
        body["seen"] = _request_facts(request)
    return _response(body, 200)


def readyz(_request: HttpRequest) -> JsonResponse:
    """Readiness: PostgreSQL is migrated and writable. Without Redis the process is degraded."""
    checks = database.report()
    reasons = [f"{part}: {text}" for part, text in checks.items() if text != OK]
    checks["redis"] = _redis()
    status = "ready" if not reasons else "not ready"
    if not reasons and checks["redis"] != OK:
        status = "degraded"
    body: dict[str, Any] = {"status": status, "checks": checks}
    if reasons:
        body["reasons"] = reasons
    return _response(body, 503 if reasons else 200)


def _redis() -> str:
    try:
        redis_client().ping()
        raise_if_demoted()
    except redis.RedisError:
        return "unavailable: sends answer queued, limits are counted in the database"
    return OK


def _request_facts(request: HttpRequest) -> dict[str, Any]:
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return {
        "client_ip": client_ip(request.META),
        "forwarded": len([part for part in forwarded.split(",") if part.strip()]),
        "secure": request.is_secure(),
    }


def _response(body: dict[str, Any], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
