"""Liveness and readiness for load balancers; responses contain nothing secret."""

from typing import Any

import redis
from django.http import HttpRequest, JsonResponse

from accounts.client_ip import client_ip
from config.health import readiness
from config.server import probe
from config.storage.redis_client import raise_if_demoted, redis_client


def livez(request: HttpRequest) -> JsonResponse:
    """Liveness: the process responds. Checks no dependency."""
    body: dict[str, Any] = {"status": "ok"}
    if probe.is_signed(request.META):
        body["seen"] = _request_facts(request)
    return _response(body, 200)


def readyz(_request: HttpRequest) -> JsonResponse:
    """Readiness: PostgreSQL is migrated and takes writes. Without Redis we are only degraded."""
    checks = readiness.database.report()
    reasons = [f"{part}: {text}" for part, text in checks.items() if text != readiness.OK]
    checks["redis"] = _redis()
    status = "ready" if not reasons else "not ready"
    if not reasons and checks["redis"] != readiness.OK:
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
    return readiness.OK


def _request_facts(request: HttpRequest) -> dict[str, Any]:
    forwarded = request.META.get("HTTP_X_FORWARDED_FOR", "")
    return {
        "client_ip": client_ip(request.META),
        "forwarded": len([part for part in forwarded.split(",") if part.strip()]),
        "secure": request.is_secure(),
    }


def _response(body: dict[str, Any], status: int) -> JsonResponse:
    return JsonResponse(body, status=status, headers={"Cache-Control": "no-store"})
