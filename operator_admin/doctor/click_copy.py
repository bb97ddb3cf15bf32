"""The check of ClickHouse."""

from redis.exceptions import RedisError

from config.storage import clickhouse
from links.clicks import stream
from links.clicks.clickhouse import completeness, tables
from operator_admin.doctor.finding import Finding, failed, passed, verdict

LATE = 300.0  # seconds
CURE = (
    "Start ClickHouse, or mend CLICKHOUSE_URL: see “ClickHouse” in docs/operations.md. PostgreSQL "
    "counts every click meanwhile."
)
TABLE_CURE = "Run: python manage.py clickhouse_tables"
LATE_CURE = "See `worker` and `beat`, then the log for clickhouse_not_written."


def click_copy() -> Finding:
    if not clickhouse.is_configured():
        return passed("clickhouse", "not used")
    try:
        if not tables.exists():
            return failed("clickhouse", "it has no table of clicks", TABLE_CURE)
        age, since = stream.sink_lag_seconds(), completeness.complete_since()
    except clickhouse.ClickHouseError as error:
        return failed("clickhouse", str(error), CURE)
    except (RedisError, OSError) as error:
        return failed("clickhouse", f"Redis: {type(error).__name__}", LATE_CURE)
    complete = f"complete since {since:%Y-%m-%d %H:%M} UTC" if since else "nothing written yet"
    detail = f"{complete}, the oldest click waits for {age or 0:.0f} s"
    return verdict("clickhouse", detail, LATE_CURE, ok=since is not None and (age or 0) < LATE)
