"""Checks of queues: messages, webhooks, e-mails and clicks."""

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from redis.exceptions import RedisError

from links.clicks import clickhouse_tables, stream
from operator_admin import figures
from operator_admin.doctor.finding import Finding, failed, finding, passed
from storage import clickhouse

# Ages in seconds from which a backlog counts as late.
LATE_QUEUE = 30.0
LATE_OUTBOX = 300.0
LATE_CLICKS = 60.0
LATE_CLICKHOUSE = 300.0
CLICKS_REMEDY = gettext_lazy(
    "See `redis`, `beat` and `worker`: every second the beat makes a worker count them."
)


def queue() -> Finding:
    now = figures.queue()
    age = now.oldest_due or 0.0
    detail = _(
        "due: {due}, the oldest has waited {age:.0f} s; of unknown outcome: {ambiguous}"
    ).format(due=now.due, age=age, ambiguous=now.ambiguous)
    remedy = _(
        "Check `worker` and the providers. If both are in order, there are more messages than "
        "provider threads: add a worker."
    )
    return finding("queue", detail, remedy, ok=age < LATE_QUEUE)


def outboxes() -> Finding:
    now = figures.queue()
    age = max(now.oldest_webhook or 0.0, now.oldest_email or 0.0)
    detail = _(
        "webhooks due: {webhooks}, e-mails due: {emails}, the oldest has waited {age:.0f} s"
    ).format(webhooks=now.webhooks, emails=now.emails, age=age)
    remedy = _("See `worker`, `broker` and `mail`: a worker delivers both.")
    return finding("outboxes", detail, remedy, ok=age < LATE_OUTBOX)


def clicks() -> Finding:
    age = stream.lag_seconds()
    if age is None:
        return failed(
            "clicks", _("Redis, which holds the uncounted clicks, does not answer"), CLICKS_REMEDY
        )
    return finding(
        "clicks",
        _("the oldest uncounted click has waited {age:.0f} s").format(age=age),
        CLICKS_REMEDY,
        ok=age < LATE_CLICKS,
    )


CLICKHOUSE_REMEDY = gettext_lazy(
    "Start ClickHouse, or fix CLICKHOUSE_URL: see docs/operations/clickhouse.md. "
    "PostgreSQL counts every click meanwhile."
)
CLICKHOUSE_TABLE_REMEDY = gettext_lazy("Run: python manage.py clickhouse_tables")
CLICKHOUSE_LATE_REMEDY = gettext_lazy(
    "See `worker` and `beat`, then the log for clickhouse_not_written."
)


def click_copy() -> Finding:
    if not clickhouse.is_configured():
        return passed("clickhouse", _("not used"))
    try:
        if not clickhouse_tables.exists():
            return failed("clickhouse", _("it has no table of clicks"), CLICKHOUSE_TABLE_REMEDY)
        age = stream.sink_lag_seconds()
        since = clickhouse_tables.complete_since()
    except clickhouse.ClickHouseError as error:
        return failed("clickhouse", str(error), CLICKHOUSE_REMEDY)
    except (RedisError, OSError) as error:
        return failed(
            "clickhouse",
            _("Redis: {error}").format(error=type(error).__name__),
            CLICKHOUSE_LATE_REMEDY,
        )
    complete = (
        _("complete since {since:%Y-%m-%d %H:%M} UTC").format(since=since)
        if since
        else _("nothing written yet")
    )
    detail = _("{complete}; the oldest unwritten click has waited {age:.0f} s").format(
        complete=complete, age=age or 0
    )
    return finding(
        "clickhouse",
        detail,
        CLICKHOUSE_LATE_REMEDY,
        ok=since is not None and (age or 0) < LATE_CLICKHOUSE,
    )
