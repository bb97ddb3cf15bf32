"""History of codes for `channels`: counts, timelines, and the end of the retention of phones."""

from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.db import connection
from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.functions import Now
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from catalogue.ids import first_id_at
from channels.extensions import BreakdownCount, TimelineEntry
from channels.history.day_counts import is_anonymised
from channels.models import Message
from links.manage import timeline as links_timeline
from otp import sql, unreported_codes
from otp.models import Verification
from storage.statements.named_rows import fetch_all


def live_codes_by_key() -> Counter[str]:
    """The number of live codes that each of OTP_KEYS made."""
    oldest = timezone.now() - timedelta(seconds=settings.LONGEST_CODE_LIFETIME) - sql.CLOCK_SKEW
    live = Verification.objects.filter(
        id__gte=first_id_at(oldest), expires_at__gt=Now(), verified_at=None, superseded_at=None
    )
    return Counter(dict(live.values_list("key_id").annotate(codes=Count("id"))))


OLDEST_SETTLED = timedelta(days=8)  # longer than a message and its fallbacks may stay open

# Reads the values of four dimensions at once. One phone represents its country, which SQL cannot
# determine. Seven characters tell apart the countries of one calling code.
_BY_DIMENSION = """
  CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN 'channel' WHEN 11 THEN 'country'
    WHEN 13 THEN 'purpose' ELSE 'api_key' END AS dimension,
  CASE GROUPING(channel, prefix, purpose, api_key) WHEN 7 THEN channel WHEN 11 THEN min(phone)
    WHEN 13 THEN purpose ELSE api_key END AS value"""
_GROUPS = """
GROUP BY GROUPING SETS ((company_id, mode, channel), (company_id, mode, prefix),
  (company_id, mode, purpose), (company_id, mode, api_key))"""

# A code sent in several messages counts once, for the delivered one. A link's row is looked up by
# id for the messages that carry a link.
_STEPS = f"""
WITH sent AS (
  SELECT m.company_id, m.mode, m.channel, left(m.phone, 7) AS prefix, m.phone,
    COALESCE(v.purpose, '') AS purpose, COALESCE(m.api_key_id::text, '') AS api_key,
    m.state = 'delivered' AS is_delivered,
    m.state = 'delivered' OR m.sent_at IS NOT NULL AS is_handed_over,
    m.content IN ('code_with_link', 'link') AS has_link,
    CASE WHEN m.content IN ('code_with_link', 'link') THEN EXISTS (
      SELECT FROM links_link l WHERE l.message_id = m.id AND l.clicked_at IS NOT NULL
        AND l.id = CASE m.kind WHEN 'link' THEN m.subject_id
          ELSE (m.params ->> 'link')::uuid END) ELSE false END AS is_opened,
    v.id IS NOT NULL AND {{known}} AND 1 = row_number() OVER (
      PARTITION BY m.company_id, m.mode, v.id
      ORDER BY m.state = 'delivered' DESC, m.created_at DESC, m.id DESC) AS is_code,
    v.verified_at IS NOT NULL AS is_entered
  FROM channels_message m LEFT JOIN otp_verification v ON v.id = m.subject_id
    AND m.kind = 'code' AND v.id >= %(first_code)s AND v.id < %(last_code)s
  WHERE m.created_at >= %(start)s AND m.created_at < %(end)s AND {{whose}})
SELECT company_id, mode, {_BY_DIMENSION},
  count(*) AS requested,
  count(*) FILTER (WHERE is_handed_over) AS handed_over,
  count(*) FILTER (WHERE is_delivered) AS delivered,
  count(*) FILTER (WHERE has_link AND (is_delivered OR is_opened)) AS linked,
  count(*) FILTER (WHERE is_opened) AS opened,
  count(*) FILTER (WHERE is_code) AS codes,
  count(*) FILTER (WHERE is_code AND is_entered) AS entered,
  0 AS charged, 0 AS spent, 0 AS returned
FROM sent {_GROUPS}
"""  # noqa: S608 - constants of this file

# Filters by the day of the settlement, as the statement does. Joins through the wallets, because
# transfers have an index by company.
_SETTLED = f"""
WITH settled AS (
  SELECT w.company_id, 'live' AS mode, COALESCE(m.channel, '') AS channel,
    left(COALESCE(m.phone, ''), 7) AS prefix, COALESCE(m.phone, '') AS phone,
    COALESCE(v.purpose, '') AS purpose, COALESCE(m.api_key_id::text, '') AS api_key, t.amount,
    t.kind = 'capture' AS is_capture
  FROM billing_wallet w
  CROSS JOIN LATERAL (
    SELECT message_id, amount, kind FROM billing_transfer WHERE company_id = w.company_id
      AND kind IN ('capture', 'release') AND created_at >= %(start)s AND created_at < %(end)s) AS t
  LEFT JOIN channels_message m
    ON m.id = t.message_id AND m.id >= %(first_message)s AND m.id < %(last_code)s
  LEFT JOIN otp_verification v ON v.id = m.subject_id AND m.kind = 'code'
    AND v.id >= %(first_message)s AND v.id < %(last_code)s
  WHERE {{whose}})
SELECT company_id, mode, {_BY_DIMENSION},
  0 AS requested, 0 AS handed_over, 0 AS delivered, 0 AS linked, 0 AS opened, 0 AS codes,
  0 AS entered,
  count(*) FILTER (WHERE is_capture) AS charged,
  COALESCE(sum(amount) FILTER (WHERE is_capture), 0)::bigint AS spent,
  COALESCE(sum(amount) FILTER (WHERE NOT is_capture), 0)::bigint AS returned
FROM settled {_GROUPS}
"""  # noqa: S608 - constants of this file

_ONE_COMPANY = "m.company_id = %(company_id)s AND m.mode = %(mode)s::text"
# Repeats the condition of the partial index on `created_at`. The index lacks messages whose phones
# are anonymised: their day is found by their ids.
_EVERY_COMPANY, _OLD_DAY = (
    "m.phone NOT LIKE '%%*'",
    "m.id >= %(first_code)s AND m.id < %(last_code)s",
)


def count_breakdowns(
    *, start: datetime, end: datetime, company_id: int | None, mode: str | None
) -> Iterable[BreakdownCount]:
    """Implements `extensions.BreakdownCounter`."""
    params: dict[str, Any] = {
        "start": start,
        "end": end,
        "first_code": first_id_at(
            start - timedelta(seconds=settings.LONGEST_CODE_LIFETIME) - sql.CLOCK_SKEW
        ),
        "last_code": first_id_at(end + sql.CLOCK_SKEW),
        "first_message": first_id_at(start - OLDEST_SETTLED),
        "first_reported": first_id_at(start - OLDEST_SETTLED - unreported_codes.REPORTED_WITHIN),
        "company_id": company_id,
        "mode": mode,
    }
    is_one = company_id is not None
    everyone = _OLD_DAY if is_anonymised(start) else _EVERY_COMPANY
    yield from _read_breakdowns(
        _STEPS.format(
            whose=_ONE_COMPANY if is_one else everyone, known=unreported_codes.KNOWN_AT_ITS_END
        ),
        params,
    )
    if mode != "test":  # test keys spend no tokens
        condition = "w.company_id = %(company_id)s" if is_one else "true"
        yield from _read_breakdowns(_SETTLED.format(whose=condition), params)


def _read_breakdowns(statement: str, params: dict[str, Any]) -> list[BreakdownCount]:
    with connection.cursor() as cursor:
        cursor.execute(statement, params)
        return fetch_all(cursor, BreakdownCount)


def with_purpose(purpose: str) -> Q:
    """The filter for messages whose code is for this purpose."""
    codes = Verification.objects.filter(pk=OuterRef("subject_id"), purpose=purpose)
    return Q(kind="code") & Q(Exists(codes))


def timeline_entries(message: Message) -> Iterator[TimelineEntry]:
    yield from links_timeline.entries(message)
    code = Verification.objects.filter(pk=message.subject_id).first()
    if code is None:
        return
    wrong = code.attempts - (code.verified_at is not None)
    if wrong and code.judged_at:
        text = ngettext("%(n)d wrong code entered", "%(n)d wrong codes entered", wrong)
        attempts_left = code.max_attempts - code.attempts
        detail = (
            "" if attempts_left or code.verified_at else _("No attempts are left: send a new code.")
        )
        yield TimelineEntry(code.judged_at, text % {"n": wrong}, "warning", detail)
    if code.verified_at:
        yield TimelineEntry(code.verified_at, _("The correct code was entered"), "success")
    elif code.expires_at <= timezone.now():
        yield TimelineEntry(code.expires_at, _("The code expired before it was entered"))


def anonymise_phones(limit: int) -> int:
    """Cuts the phones of old verifications to country code and prefix; returns the count."""
    with connection.cursor() as cursor:
        cursor.execute(sql.ANONYMISE_PHONES, [settings.PHONE_RETENTION, limit])
        return int(cursor.rowcount)
