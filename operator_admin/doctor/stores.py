"""Checks of the settings, PostgreSQL and Redis."""

import time
from datetime import timedelta
from typing import Any

import redis as redis_library
from django.conf import settings
from django.core import checks
from django.db import DataError, transaction
from django.db import Error as DatabaseError
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from psycopg_pool import PoolTimeout

from billing.models import ArchivedMonth
from operator_admin import database_role as roles
from operator_admin.doctor.finding import Finding, failed, finding, passed
from storage import sessions
from storage.months import old_months, partitions
from storage.redis_client import raise_if_demoted, redis_client
from storage.redis_connections import ServerRefusalError
from storage.schema_changes.runs import unapplied_migrations
from storage.statements.queries import execute, fetch_column, fetch_tuples, fetch_value

_UNLIMITED = "SELECT name FROM pg_settings WHERE name = ANY(%s) AND setting = '0' ORDER BY name"
_COLLATION_VERSIONS = """SELECT datcollversion, pg_database_collation_actual_version(oid)
FROM pg_database WHERE datname = current_database()"""
MIN_POSTGRES = 15
MIN_REDIS = (6, 2)
MAX_CLOCK_SKEW = 2.0  # seconds
FULL_REDIS = 0.9  # of `maxmemory`
GRACE = timedelta(days=3)  # until an archive is late
DATABASE_REMEDY = gettext_lazy(
    "Start PostgreSQL, or fix DATABASE_URL: try `psql \"$DATABASE_URL\" -c 'select 1'`."
)
CLOSED_REMEDY = gettext_lazy(
    "Restore it with `manage.py restore … --prove`, or see docs/operations/backup.md."
)
ZONE_REMEDY = gettext_lazy("Set TIME_ZONE to the current name: Asia/Kolkata, not Asia/Calcutta.")
TEXT_REMEDY = gettext_lazy(
    "Restore a backup into a database created as in docs/operations/set-up.md."
)
COLLATION_REMEDY = gettext_lazy(
    "As the owner, run `REINDEX DATABASE name`, then `ALTER DATABASE name REFRESH COLLATION "
    "VERSION`, with the service stopped: until then unique names may be stored twice."
)
POOLER_REMEDY = gettext_lazy("Set DATABASE_DIRECT_URL: see docs/operations/failover.md.")
LIMITS = ["idle_in_transaction_session_timeout", "lock_timeout", "statement_timeout"]
REDIS_REMEDY = gettext_lazy(
    "Start Redis, or fix REDIS_URL. Meanwhile sends are answered `queued`, and workers poll for "
    "them."
)
CLUSTER_REMEDY = gettext_lazy(
    "Turn cluster mode off, or name another Redis. For failover use Sentinel: see "
    "docs/operations/configuration.md."
)


def settings_are_sound() -> Finding:
    """Runs Django's deployment checks; `config.environment.production_checks` runs at start."""
    issues = checks.run_checks(include_deployment_checks=settings.PRODUCTION)
    warnings = [
        f"{issue.id}: {issue.msg}"
        for issue in issues
        if issue.is_serious(checks.WARNING) and not issue.is_silenced()
    ]
    if settings.DEBUG:
        warnings.append("DEBUG is on")
    detail = "; ".join(warnings) or _("{environment}, no warnings").format(
        environment=settings.ENVIRONMENT
    )
    remedy = _("Fix the named variables (see .env.example) and restart every process.")
    return finding("settings", detail, remedy, ok=not warnings)


def legal_addresses() -> Finding:
    """Checks terms, privacy policy and support contact, which production requires."""
    values = {
        "TERMS_URL": settings.TERMS_URL,
        "PRIVACY_URL": settings.PRIVACY_URL,
        "SUPPORT_EMAIL / SUPPORT_URL": settings.SUPPORT_EMAIL or settings.SUPPORT_URL,
    }
    absent = [name for name, value in values.items() if not value]
    detail = (
        _("not set: {names}").format(names=", ".join(absent))
        if absent
        else _("terms, privacy, support")
    )
    remedy = _("Set them (see .env.example): they appear on every page and in every e-mail.")
    return finding("legal addresses", detail, remedy, ok=not absent or not settings.PRODUCTION)


def database() -> Finding:
    try:
        version = int(fetch_value("SHOW server_version_num")) // 10_000
        is_closed = fetch_value("SHOW default_transaction_read_only") == "on"
        with transaction.atomic():
            execute("SELECT now() AT TIME ZONE %s", [settings.TIME_ZONE])
    except DataError:
        detail = _("it has no time zone {name}").format(name=settings.TIME_ZONE)
        return failed("database", detail, ZONE_REMEDY)
    except (DatabaseError, PoolTimeout) as error:
        return failed("database", type(error).__name__, DATABASE_REMEDY)
    if is_closed:
        return failed(
            "database", _("read-only: a restored copy that was not verified"), CLOSED_REMEDY
        )
    remedy = _(
        "Upgrade to PostgreSQL {min_postgres} or newer: pg_dump, then restore there."
    ).format(min_postgres=MIN_POSTGRES)
    return finding(
        "database",
        _("PostgreSQL {version}").format(version=version),
        remedy,
        ok=version >= MIN_POSTGRES,
    )


def database_texts() -> Finding:
    """Checks the database's encoding and locale.

    CREATE DATABASE copies them from the server, where the installer's shell set them. With another
    C library or ICU, existing indexes are out of order:
    https://www.postgresql.org/docs/current/sql-altercollation.html
    """
    encoding = fetch_value("SHOW server_encoding")
    if encoding != "UTF8":
        return failed("database texts", _("{}, not UTF-8").format(encoding), TEXT_REMEDY)
    is_cased = fetch_value("SELECT upper('ж') = 'Ж'")
    [(of_indexes, of_system)] = fetch_tuples(_COLLATION_VERSIONS)
    if of_indexes and of_indexes != of_system:
        detail = _("the indexes are sorted by version {}, and the system has {}").format(
            of_indexes, of_system
        )
        return failed("database texts", detail, COLLATION_REMEDY)
    detail = "UTF-8" if is_cased else _("LC_CTYPE is ASCII only: searches distinguish ж and Ж")
    return finding("database texts", detail, TEXT_REMEDY, ok=is_cased)


def migrations() -> Finding:
    missing = unapplied_migrations()
    detail = ", ".join(missing[:5]) or _("all applied")
    return finding("migrations", detail, _("Run: python manage.py migrate"), ok=not missing)


def partitions_ahead() -> Finding:
    """Checks partitions of coming months: without one, its messages would be refused."""
    ahead = partitions.months_ahead()
    fewest = min(ahead.values())
    remedy = _("Start the beat, which creates them hourly, and see that no transaction stays open.")
    return finding(
        "partitions", _("{fewest} months ahead").format(fewest=fewest), remedy, ok=fewest >= 1
    )


def archives() -> Finding:
    """Finds months that should be archived by now, and those that a run left unfinished."""
    if not settings.MESSAGES_KEPT_MONTHS:
        return passed("archives", _("every month is kept"))
    since = timezone.now() - GRACE
    newest = old_months.newest_to_archive(settings.MESSAGES_KEPT_MONTHS, since)
    late = [month for month in old_months.attached_months() if month <= newest]
    stuck = ArchivedMonth.objects.filter(dropped_at=None, detached_at__lt=since)
    late += stuck.order_by("month").values_list("month", flat=True)
    detail = (
        _("late: {names}").format(names=", ".join(f"{month:%Y-%m}" for month in late))
        if late
        else _("up to date")
    )
    remedy = _(
        "Run: python manage.py archive_months, as the tables' owner. It says what is in the way."
    )
    return finding("archives", detail, remedy, ok=not late)


def database_role() -> Finding:
    """Checks that the role owns no table: it could drop triggers that make one append-only."""
    powers = roles.powers()
    if not settings.PRODUCTION:
        return passed("database role", _("this service does not require one of its own"))
    detail = "; ".join(powers) or _("cannot rewrite the audit or the books")
    remedy = _(
        "Run the application with a role of its own: see “Two roles” in "
        "docs/operations/security.md."
    )
    return finding("database role", detail, remedy, ok=not powers)


def pooler() -> Finding:
    """Checks the settings behind a pooler, which preserves neither sessions nor time limits."""
    is_pooled = sessions.is_pooled()
    if is_pooled and not sessions.has_direct_address():
        return failed("pooler", _("DATABASE_URL leads to a pooler"), POOLER_REMEDY)
    if not sessions.has_direct_address():
        return passed("pooler", _("none"))
    unlimited = fetch_column(_UNLIMITED, [LIMITS])
    detail = (
        _("no {names}").format(names=", ".join(unlimited))
        if unlimited
        else _("the role has time limits")
    )
    remedy = _("As a superuser: ALTER ROLE … SET each of them; see docs/operations/failover.md.")
    return finding("pooler", detail, remedy, ok=not unlimited)


def clock() -> Finding:
    before = time.time()
    server_time = float(fetch_value("SELECT EXTRACT(epoch FROM clock_timestamp())::float"))
    skew = server_time - (before + time.time()) / 2
    remedy = _("Run a time service (chrony, systemd-timesyncd) on this machine and the database's.")
    detail = _("the database's clock differs by {skew:+z.1f} s").format(skew=skew)
    return finding("clock", detail, remedy, ok=abs(skew) < MAX_CLOCK_SKEW)


def redis() -> Finding:
    try:
        server = _info("server")
        raise_if_demoted()
    except ServerRefusalError as error:
        return failed("redis", _("it refuses us: {error}").format(error=error), REDIS_REMEDY)
    except redis_library.RedisError as error:
        return failed("redis", type(error).__name__, REDIS_REMEDY)
    # Even with one shard, all keys of a script must be in one slot.
    if server.get("redis_mode") == "cluster":
        return failed("redis", _("in cluster mode"), CLUSTER_REMEDY)
    version = str(server["redis_version"])
    parts = tuple(int(part) for part in version.split(".")[:2])
    remedy = _("Upgrade Redis to 6.2 or newer.")
    return finding(
        "redis", _("Redis {version}").format(version=version), remedy, ok=parts >= MIN_REDIS
    )


def redis_memory() -> Finding:
    """Checks that Redis has memory and evicts nothing: it holds rate limits and tasks."""
    try:
        memory = _info("memory")
        stats = _info("stats")
    except redis_library.RedisError as error:
        return failed("redis memory", type(error).__name__, REDIS_REMEDY)
    policy = memory["maxmemory_policy"]
    limit = int(memory["maxmemory"])
    evicted = int(stats["evicted_keys"])
    used = int(memory["used_memory"])
    if policy == "noeviction" and used > FULL_REDIS * limit > 0:
        detail = _("{} of {} bytes are used").format(used, limit)
        remedy = _("Raise `maxmemory` in redis.conf (CONFIG SET does it at once).")
        return failed("redis memory", detail, remedy)
    is_safe = policy == "noeviction" or (limit == 0 and not evicted)
    remedy = _("Set `maxmemory-policy noeviction` in redis.conf (CONFIG SET does it at once).")
    return finding(
        "redis memory",
        _("{policy}, {evicted} keys evicted").format(policy=policy, evicted=evicted),
        remedy,
        ok=is_safe,
    )


def redis_persistence() -> Finding:
    """Checks that Redis is persistent: the last day's limits and the broker's tasks need it."""
    try:
        info = _info("persistence")
    except redis_library.RedisError as error:
        return failed("redis persistence", type(error).__name__, REDIS_REMEDY)
    if settings.ENVIRONMENT != "production":
        return passed("redis persistence", _("not needed here"))
    is_on = bool(int(info["aof_enabled"]))
    detail = (
        _("append-only file") if is_on else _("no append-only file: a restart forgets the limits")
    )
    return finding("redis persistence", detail, _("Set `appendonly yes` in redis.conf."), ok=is_on)


def _info(section: str) -> dict[str, Any]:
    info: Any = redis_client().info(section)
    return dict(info)
