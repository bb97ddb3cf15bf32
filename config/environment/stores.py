"""Connections and timeouts of PostgreSQL, Redis and ClickHouse."""

import os
from typing import Any

from django.core.exceptions import ImproperlyConfigured
from environs import EnvError

from config.environment.variables import at_least, env, split_options, whole_option
from storage import clickhouse, redis_address
from storage.primary_connection import PrimaryConnection

__all__ = [
    "BROKER_URL",
    "CACHES",
    "CELERY_BROKER_READ_URL",
    "CELERY_BROKER_WRITE_URL",
    "CLICKHOUSE_BACKLOG",
    "CLICKHOUSE_CA",
    "CLICKHOUSE_READS",
    "CLICKHOUSE_URL",
    "DATABASES",
    "RATELIMIT_USE_CACHE",
    "REDIS_TIMEOUT",
    "REDIS_URL",
]

try:
    DATABASES: dict[str, Any] = {"default": env.dj_db_url("DATABASE_URL")}
    REDIS_URL = redis_address.with_password(env.str("REDIS_URL"), env.str("REDIS_PASSWORD", ""))
except EnvError as error:
    raise ImproperlyConfigured(
        f"{error}: set DATABASE_URL and REDIS_URL (# / ? in a password are %23 %2F %3F), or start "
        "with `make run` / `make test`, which start their own servers"
    ) from None

# TCP keepalive detects a vanished database within seconds; the system's default takes hours.
_NETWORK: dict[str, Any] = {
    "target_session_attrs": "primary",  # among several hosts, or behind an outdated proxy
    "connect_timeout": 3,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
# Needed if DATABASE_URL leads to a pooler in transaction mode, where sessions do not persist.
_DIRECT_URL = env.str("DATABASE_DIRECT_URL", "")
_URL_OPTIONS: dict[str, Any] = DATABASES["default"].get("OPTIONS", {})
# Session options from the URL or PGOPTIONS, like in libpq; they override ours.
_SESSION = _URL_OPTIONS.pop("options", "") or os.environ.get("PGOPTIONS", "")
DATABASES["default"] |= {
    "CONN_MAX_AGE": 0,
    "OPTIONS": _NETWORK
    | _URL_OPTIONS
    | {
        # 64 request threads share 8 connections: each uses one for 1–2 ms.
        "pool": {
            "min_size": 1,
            "max_size": at_least(1, "DATABASE_POOL", 8),
            "timeout": 5,
            "connection_class": PrimaryConnection,
            # Seconds for which it retries with growing pauses; then the next request tries.
            "reconnect_timeout": 2,
        },
        # Both are off in Django by default; together they add a fifth of the throughput.
        "server_side_binding": True,
        "prepare_threshold": 2 if env.bool("DATABASE_PREPARED_STATEMENTS", True) else None,
        "options": "-c lock_timeout=3000 -c statement_timeout=10000"
        # Whatever the database or the role sets: psycopg parses only times of this style, and
        # conditional updates rely on READ COMMITTED, which re-reads rows after a wait.
        " -c DateStyle=ISO -c default_transaction_isolation=read\\ committed"
        # Off in databases that date from before 9.1: backslashes in bytea arrays would be lost.
        " -c standard_conforming_strings=on"
        # Planning some hot statements takes longer than running them, and plans of lists must not
        # depend on their parameters.
        " -c plan_cache_mode=force_generic_plan"
        # The default, 4, suits rotating disks: to find a few rows in ten thousand PostgreSQL
        # scanned the whole table.
        " -c random_page_cost=1.1"
        f" -c idle_in_transaction_session_timeout=20000 {_SESSION}",
    },
}
if _DIRECT_URL:
    DATABASES["default"]["DIRECT"] = {"conninfo": _DIRECT_URL} | _NETWORK
    del DATABASES["default"]["OPTIONS"]["options"]  # poolers refuse options; the role sets them
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True

redis_address.parse(REDIS_URL)  # fails at start if malformed
BROKER_URL = env.str("CELERY_BROKER_URL", "") or REDIS_URL
# Celery gets a URL that may be logged; our Redis transport reads BROKER_URL itself. These two take
# precedence over the environment's CELERY_BROKER_URL, which Celery reads by itself.
CELERY_BROKER_READ_URL = (
    redis_address.parse(BROKER_URL, variable="CELERY_BROKER_URL").celery_url
    if redis_address.is_redis(BROKER_URL)
    else BROKER_URL
)
CELERY_BROKER_WRITE_URL = (
    redis_address.parse(BROKER_URL, variable="CELERY_BROKER_URL").celery_url
    if redis_address.is_redis(BROKER_URL)
    else BROKER_URL
)

REDIS_TIMEOUT = 0.05  # seconds; a slow limiter is worse than none
CACHES = {
    "default": {"BACKEND": "storage.cache.PostgresCache"},  # allauth's rate limits
    "rate": {"BACKEND": "storage.cache.RateCache", "KEY_PREFIX": "rate"},
}
RATELIMIT_USE_CACHE = "rate"

# A database with a copy of the clicks; empty for none.
CLICKHOUSE_URL, _CLICKHOUSE = split_options(env.str("CLICKHOUSE_URL", ""))
if CLICKHOUSE_URL:
    clickhouse.parse_address(CLICKHOUSE_URL)
_NAME = "CLICKHOUSE_URL"
CLICKHOUSE_CA = _CLICKHOUSE.pop("ca", "")  # a file of CAs; empty for public ones
# Seconds for which the stream keeps clicks if ClickHouse is down.
CLICKHOUSE_BACKLOG = whole_option(_CLICKHOUSE, _NAME, "backlog", 21_600, at_least=60)
# Whether link statistics are read from it, for periods for which it is complete.
CLICKHOUSE_READS = bool(whole_option(_CLICKHOUSE, _NAME, "reads", 0))
if _CLICKHOUSE:
    raise ImproperlyConfigured(f"CLICKHOUSE_URL has no option {min(_CLICKHOUSE)}")
