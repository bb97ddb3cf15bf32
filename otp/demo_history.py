"""Seeds made-up history for demos and benchmarks: messages, attempts, codes and transfers.

Everything about message n follows from its number, so the same call makes the same history.
Phones come from a range that only demo data uses.
"""

from collections.abc import Callable, Iterator
from datetime import date, timedelta
from typing import Any

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.utils import timezone

from accounts.models import Company, Mode
from billing.wallet import ledger
from channels.history.day_counts import start_of

KEY_ID = "past"  # not in OTP_KEYS: these codes cannot be derived

# Of every hundred, 60 go by the first channel, 25 by the second, 15 by the third; 93 arrive,
# 4 fail, 3 expire.
SHARES = [60, 85]
_GENERATE = """
CREATE TEMPORARY TABLE demo_message AS
SELECT n, at, (lpad(to_hex((EXTRACT(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
    || substr(h, 1, 3) || '8' || substr(h, 4, 15))::uuid AS id,
  (lpad(to_hex((EXTRACT(epoch FROM at) * 1000)::bigint), 12, '0') || '7'
    || substr(h, 18, 3) || '8' || substr(h, 5, 15))::uuid AS code_id,
  gen_random_uuid() AS attempt_id,
  '+7999000' || lpad((x %% 10000)::text, 4, '0') AS phone,
  (%(channels)s::text[])[1 + width_bucket(x %% 100, %(shares)s::bigint[])] AS channel,
  CASE WHEN x / 100 %% 100 < 93 THEN 'delivered' WHEN x / 100 %% 100 < 97 THEN 'failed'
       ELSE 'expired' END AS state,
  make_interval(secs => 0.6 + (x / 10000 %% 1000) / 250.0
    + CASE WHEN x %% 100 < 85 THEN 0 ELSE 4 END) AS taken,
  x / 100 %% 100 < 93 AND x / 10000000 %% 100 < 84 AS is_verified
FROM (
  SELECT n, %(start)s::timestamptz
      + %(length)s::interval * (n - %(first)s::bigint) / %(count)s::bigint AS at,
    md5(%(company_id)s::text || ' ' || n) AS h,
    ('x' || substr(md5('past ' || n), 1, 15))::bit(60)::bigint AS x
  FROM generate_series(%(first)s::bigint, %(first)s::bigint + %(count)s - 1) AS n) AS numbered"""

_VERIFICATIONS = """
INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length, attempts,
  max_attempts, created_at, expires_at, judged_at, verified_at, superseded_at, settled_at)
SELECT code_id, %(company_id)s, %(mode)s::text, phone, 'demo', ''::bytea, %(key)s::text, 6,
  is_verified::int, 5, at, at + interval '300 seconds',
  CASE WHEN is_verified THEN at + taken * 3 END, CASE WHEN is_verified THEN at + taken * 3 END,
  at + interval '300 seconds', CASE WHEN is_verified THEN at + taken * 3 END
FROM demo_message
"""

_MESSAGES = """
INSERT INTO channels_message (id, company_id, api_key_id, mode, kind, content, channel, chain,
  phone, subject_id, params, locale, request_id, state, error, tries, hold, price, segments,
  priority, created_at, due_at, useful_until, deadline, sent_at, delivered_at, finished_at)
SELECT id, %(company_id)s, %(api_key_id)s, %(mode)s::text, 'code', 'code', channel, '[]', phone,
  code_id, jsonb_build_object('key', %(key)s::text, 'length', 6), 'ru',
  'req_' || left(replace(id::text, '-', ''), 12) || right(id::text, 10), state,
  CASE state WHEN 'failed' THEN 'recipient_unreachable' ELSE '' END, 1, 1,
  CASE WHEN %(mode)s::text = 'test' THEN 0
    ELSE (%(prices)s::int[])[array_position(%(channels)s::text[], channel)] END,
  1, 0, at, NULL, at + interval '300 seconds', at + interval '600 seconds',
  CASE WHEN state <> 'failed' THEN at + taken / 2 END,
  CASE WHEN state = 'delivered' THEN at + taken END,
  at + CASE WHEN state = 'expired' THEN interval '600 seconds' ELSE taken END
FROM demo_message
"""

_ATTEMPTS = """
INSERT INTO channels_attempt (id, message_id, n, hold, channel, provider, provider_id, state,
  error_class, error_code, started_at, accepted_at, finished_at)
SELECT attempt_id, id, 1, 1, channel, 'test_' || channel, 'past-' || attempt_id, state,
  CASE state WHEN 'failed' THEN 'unreachable' ELSE '' END, '', at + taken / 10,
  CASE WHEN state <> 'failed' THEN at + taken / 2 END,
  at + CASE WHEN state = 'expired' THEN interval '600 seconds' ELSE taken END
FROM demo_message
"""

_IS_DEMO = """
m.company_id = %(company_id)s AND m.mode = 'live' AND m.created_at >= %(start)s
AND m.created_at < %(end)s AND m.params ->> 'key' = %(key)s::text"""

_TRANSFERS = f"""
SELECT m.company_id, t.kind, m.price AS amount, NULL AS key, m.id AS message_id, 1 AS hold,
  t.proof, t.reason, t.created_at
FROM channels_message m, LATERAL (VALUES
  ('hold', '', '', m.created_at),
  (CASE m.state WHEN 'delivered' THEN 'capture' ELSE 'release' END,
   CASE m.state WHEN 'delivered' THEN 'receipt' ELSE '' END,
   CASE m.state WHEN 'delivered' THEN '' ELSE m.state END, m.finished_at))
  AS t(kind, proof, reason, created_at)
WHERE {_IS_DEMO}"""  # noqa: S608 - constants of this file

_GRANT = f"""
SELECT m.company_id, 'grant' AS kind, sum(m.price) AS amount, 'demo:' || m.company_id AS key,
  NULL::uuid AS message_id, NULL::int AS hold, '' AS proof, 'demo' AS reason,
  %(start)s::timestamptz AS created_at
FROM channels_message m WHERE {_IS_DEMO} AND m.state = 'delivered' GROUP BY m.company_id"""  # noqa: S608


def _ignore_progress(_day: date) -> None:
    pass


@transaction.atomic
def seed(
    *,
    company: Company,
    mode: str,
    messages: int,
    days: int,
    on_day: Callable[[date], None] = _ignore_progress,
) -> None:
    """Fills the days before today in one transaction; the balance stays the same."""
    today = timezone.localdate()
    params: dict[str, Any] = {
        "company_id": company.pk,
        "api_key_id": company.api_keys.filter(mode=mode).values_list("pk", flat=True).first(),
        "mode": mode,
        "key": KEY_ID,
        "channels": list(settings.PRICES),
        "prices": list(settings.PRICES.values()),
        "shares": SHARES,
    }
    first = 0
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")
        for day, count in _spread(
            messages, [today - timedelta(days=n) for n in range(days, 0, -1)]
        ):
            _seed_day(cursor, params | _day_bounds(day), first + 1, count)
            first += count
            on_day(day)
        if mode == Mode.LIVE:
            span = {"start": start_of(today - timedelta(days=days)), "end": start_of(today)}
            _book_transfers(cursor, params | span)


def is_seeded(company: Company) -> bool:
    return company.messages.filter(params__key=KEY_ID).exists()


def _spread(messages: int, days: list[date]) -> Iterator[tuple[date, int]]:
    """Spreads the messages over the days, fewer on Saturdays and Sundays."""
    weights = [3 if day.weekday() >= 5 else 5 for day in days]
    left, weight_left = messages, sum(weights)
    for day, weight in zip(days, weights, strict=True):
        count = left * weight // weight_left
        left, weight_left = left - count, weight_left - weight
        yield day, count


def _day_bounds(day: date) -> dict[str, Any]:
    return {"start": start_of(day), "end": start_of(day + timedelta(days=1))}


def _seed_day(cursor: CursorWrapper, params: dict[str, Any], first: int, count: int) -> None:
    if not count:
        return
    batch = {"first": first, "count": count, "length": params["end"] - params["start"]}
    for statement in (_GENERATE, _VERIFICATIONS, _MESSAGES, _ATTEMPTS):
        cursor.execute(statement, params | batch)
    cursor.execute("DROP TABLE demo_message")


def _book_transfers(cursor: CursorWrapper, params: dict[str, Any]) -> None:
    """Grants the delivered price first, so no line of the statement is below zero."""
    for rows in (_GRANT, _TRANSFERS):
        ledger.book_history(cursor, rows, params)
