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
        "with `make run` / `make test`, which bring their own servers"
    ) from None

# TCP keepalive notices a vanished database within seconds; the system default is hours.
_NETWORK: dict[str, Any] = {
    "target_session_attrs": "primary",  # of several hosts, or behind a proxy that is late
    "connect_timeout": 3,
    "keepalives": 1,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 15_000,
}
# Set where DATABASE_URL leads to a pooler in transaction mode: there a session is one transaction.
_DIRECT_URL = env.str("DATABASE_DIRECT_URL", "")
_GIVEN: dict[str, Any] = DATABASES["default"].get("OPTIONS", {})
# What a session sets, as libpq takes it from the URL or from PGOPTIONS; it comes after ours.
_SESSION = _GIVEN.pop("options", "") or os.environ.get("PGOPTIONS", "")
DATABASES["default"] |= {
    "CONN_MAX_AGE": 0,
    "OPTIONS": _NETWORK
    | _GIVEN
    | {
        # 64 request threads share 8 connections: each uses one for 1–2 ms.
        "pool": {
            "min_size": 1,
            "max_size": at_least(1, "DATABASE_POOL", 8),
            "timeout": 5,
            "connection_class": PrimaryConnection,
            # Pauses between its attempts double until this long. Then the next request tries.
            "reconnect_timeout": 2,
        },
        # Django's default is off for both; together they give a fifth of the throughput.
        "server_side_binding": True,
        "prepare_threshold": 2 if env.bool("DATABASE_PREPARED_STATEMENTS", True) else None,
        "options": "-c lock_timeout=3000 -c statement_timeout=10000"
        # Whatever the database or the role sets: psycopg reads only times of this style, and the
        # conditional updates count on what they wait for.
        " -c DateStyle=ISO -c default_transaction_isolation=read\\ committed"
        # Off where a database is older than 9.1: in an array of octets a backslash is lost then.
        " -c standard_conforming_strings=on"
        # Planning some hot statements takes longer than running them, and the plan of a list must
        # not depend on its parameters.
        " -c plan_cache_mode=force_generic_plan"
        # The default, 4, suits rotating disks: a few rows of a table of some ten thousand
        # were found by reading all of it.
        " -c random_page_cost=1.1"
        f" -c idle_in_transaction_session_timeout=20000 {_SESSION}",
    },
}
if _DIRECT_URL:
    DATABASES["default"]["DIRECT"] = {"conninfo": _DIRECT_URL} | _NETWORK
    del DATABASES["default"]["OPTIONS"]["options"]  # poolers refuse it: they are set by the role
    DATABASES["default"]["DISABLE_SERVER_SIDE_CURSORS"] = True

redis_address.parse(REDIS_URL)  # what cannot be read is refused at start
BROKER_URL = env.str("CELERY_BROKER_URL", "") or REDIS_URL
# Celery sees what a log may show; its transport over Redis reads BROKER_URL itself. These two take
# precedence over the environment's CELERY_BROKER_URL, which Celery would read on its own.
CELERY_BROKER_READ_URL = CELERY_BROKER_WRITE_URL = (
    redis_address.parse(BROKER_URL, variable="CELERY_BROKER_URL").celery_url
    if redis_address.is_redis(BROKER_URL)
    else BROKER_URL
)

REDIS_TIMEOUT = 0.05  # seconds; a slow limiter is worse than none
CACHES = {
    "default": {"BACKEND": "storage.cache.PostgresCache"},  # allauth counts log-ins here
    "rate": {"BACKEND": "storage.cache.RateCache", "KEY_PREFIX": "rate"},
}
RATELIMIT_USE_CACHE = "rate"

# A copy of the clicks; empty: none.
CLICKHOUSE_URL, _CLICKHOUSE = split_options(env.str("CLICKHOUSE_URL", ""))
if CLICKHOUSE_URL:
    clickhouse.parse_address(CLICKHOUSE_URL)
_NAME = "CLICKHOUSE_URL"
CLICKHOUSE_CA = _CLICKHOUSE.pop("ca", "")  # a file of certificates; empty: the public ones
# Seconds that the stream keeps clicks for a ClickHouse that is away.
CLICKHOUSE_BACKLOG = whole_option(_CLICKHOUSE, _NAME, "backlog", 21_600, at_least=60)
# Statistics of links come from there, for periods that it has in full.
CLICKHOUSE_READS = bool(whole_option(_CLICKHOUSE, _NAME, "reads", 0))
if _CLICKHOUSE:
    raise ImproperlyConfigured(f"CLICKHOUSE_URL has no option {min(_CLICKHOUSE)}")
