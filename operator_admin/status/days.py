"""Days of the status page: of each channel from the counted days, of the API minute by minute."""

from datetime import date, timedelta

from django.db import connection
from django.db.models import Q
from django.utils import timezone

from catalogue.channels import CHANNELS
from channels.models import CountedDay
from operator_admin.metrics import figures
from operator_admin.models import StatusDay

SHOWN_DAYS = 90
PER_RUN = 10  # days; the first runs fill in the past
RECOUNTED = timedelta(days=3)  # receipts that come late change a day
RECOUNT_AFTER = timedelta(hours=6)
API = "api"

# A channel without messages has a row, too: the day is counted. The median is weighted by the
# messages that took as long.
_COUNT = """
INSERT INTO operator_admin_statusday AS counted
  (component, day, total, good, companies, largest, median_ms, counted_at)
WITH ended AS (
  SELECT channel, company_id, pace, state, messages FROM channels_daycount
  WHERE day = %(day)s AND mode = 'live' AND state IN ('delivered', 'failed', 'expired')),
of_company AS (
  SELECT channel, company_id, sum(messages) AS total,
    sum(messages) FILTER (WHERE state = 'delivered') AS good
  FROM ended GROUP BY 1, 2),
paces AS (
  SELECT channel, pace, sum(messages) AS messages FROM ended WHERE pace > 0 GROUP BY 1, 2),
ranked AS (
  SELECT channel, pace, sum(messages) OVER (PARTITION BY channel ORDER BY pace) AS running,
    sum(messages) OVER (PARTITION BY channel) AS total FROM paces),
medians AS (
  SELECT channel, min(pace) FILTER (WHERE running * 2 >= total) AS median FROM ranked GROUP BY 1)
SELECT c.name, %(day)s, COALESCE(sum(o.total), 0), COALESCE(sum(o.good), 0), count(o.company_id),
  COALESCE(max(o.total), 0), max(m.median), now()
FROM unnest(%(channels)s::text[]) AS c(name)
LEFT JOIN of_company o ON o.channel = c.name LEFT JOIN medians m ON m.channel = c.name
GROUP BY c.name
ON CONFLICT (day, component) DO UPDATE SET total = excluded.total, good = excluded.good,
  companies = excluded.companies, largest = excluded.largest, median_ms = excluded.median_ms,
  counted_at = excluded.counted_at
"""

# Each minute once, however often the task runs: the row says when it was counted last.
_MEASURE = """
INSERT INTO operator_admin_statusday AS measured
  (component, day, total, good, companies, largest, counted_at)
VALUES (%(component)s, %(day)s, 1, %(alive)s, 0, 0, date_trunc('minute', now()))
ON CONFLICT (day, component) DO UPDATE SET total = measured.total + 1,
  good = measured.good + excluded.good, counted_at = excluded.counted_at
WHERE measured.counted_at < excluded.counted_at
"""

_IS_WEB_ALIVE = """
SELECT EXISTS (SELECT FROM channels_heartbeat
  WHERE kind = 'web' AND at > clock_timestamp() - make_interval(secs => %s))
"""


def count_days() -> int:
    """Counts the days that are due, the newest first; returns how many."""
    due = _due_days()[:PER_RUN]
    for day in due:
        _count(day)
    return len(due)


def _due_days() -> list[date]:
    """Days counted for companies that are not counted here, or not lately."""
    today = timezone.localdate()
    rows = StatusDay.objects.exclude(component=API)
    is_fresh = Q(counted_at__gte=timezone.now() - RECOUNT_AFTER) | Q(day__lt=today - RECOUNTED)
    counted = set(rows.filter(is_fresh).values_list("day", flat=True).distinct())
    days = CountedDay.objects.filter(day__gte=today - timedelta(days=SHOWN_DAYS))
    return [
        day for day in days.order_by("-day").values_list("day", flat=True) if day not in counted
    ]


def _count(day: date) -> None:
    names = [channel.name for channel in CHANNELS]
    with connection.cursor() as cursor:
        cursor.execute(_COUNT, {"day": day, "channels": names})


def measure_api() -> None:
    """Counts this minute, and whether a web process is alive in it."""
    with connection.cursor() as cursor:
        cursor.execute(_IS_WEB_ALIVE, [figures.ALIVE_SECONDS])
        alive = int(cursor.fetchone()[0])
        day = timezone.localdate()
        cursor.execute(_MEASURE, {"component": API, "day": day, "alive": alive})
