"""The check of ClickHouse."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from config.storage import clickhouse
from links.clicks import stream
from links.clicks.clickhouse import completeness, tables
from operator_admin.doctor.finding import Finding, failed, passed, verdict

LATE = 300.0  # seconds
CURE = gettext_lazy(
    "Start ClickHouse, or mend CLICKHOUSE_URL: see docs/operations/clickhouse.md. "
    "PostgreSQL counts every click meanwhile."
)
TABLE_CURE = gettext_lazy("Run: python manage.py clickhouse_tables")
LATE_CURE = gettext_lazy("See `worker` and `beat`, then the log for clickhouse_not_written.")


def click_copy() -> Finding:
    if not clickhouse.is_configured():
        return passed("clickhouse", _("not used"))
    try:
        if not tables.exists():
            return failed("clickhouse", _("it has no table of clicks"), TABLE_CURE)
        age, since = stream.sink_lag_seconds(), completeness.complete_since()
    except clickhouse.ClickHouseError as error:
        return failed("clickhouse", str(error), CURE)
    except (RedisError, OSError) as error:
        return failed(
            "clickhouse", _("Redis: {error}").format(error=type(error).__name__), LATE_CURE
        )
    complete = (
        _("complete since {since:%Y-%m-%d %H:%M} UTC").format(since=since)
        if since
        else _("nothing written yet")
    )
    detail = _("{complete}, the oldest click waits for {age:.0f} s").format(
        complete=complete, age=age or 0
    )
    return verdict("clickhouse", detail, LATE_CURE, ok=since is not None and (age or 0) < LATE)
