"""SQL of codes: send, check, settle, anonymise, count."""

from functools import cache
from uuid import UUID

from accounts.jobs import not_waiting_sql
from api import idempotency
from billing.wallet import holds
from channels import sql as channels_sql
from links import sql as links_sql
from storage.months.recent_ids import Months, ids_of, months_of_last, within
from storage.statements.json_rows import json_rows
from webhooks import events

# Codes of earlier months are history, and are not looked at. A month's first days look at the month
# before as well, its last ones at the month after.
_RECENT = "id BETWEEN :first_id AND :last_id"


def recent(statement: str) -> str:
    """The statement for codes of these months."""
    return within(statement, _months())


def first_recent_id() -> UUID:
    return ids_of(_months()).first_id


def _months() -> Months:
    return months_of_last(days=3)


# One statement, one commit. A live code with time and attempts left is repeated (`current`);
# otherwise a new verification supersedes it. Nothing is written unless the wallet paid: every
# insert reads from `payer`. The unique index on the live row, not this statement, keeps parallel
# sends from making two live codes: the loser retries.
_SEND = """
WITH standing AS (  -- locked before the wallet, so it shows the last check's result
  SELECT id, expires_at, attempts, max_attempts, key_id, length, verified_at
  FROM otp_verification
  WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
    AND purpose = %(purpose)s::text AND superseded_at IS NULL AND {recent}
  FOR NO KEY UPDATE),
cap AS (  -- as of the snapshot; only the check counts exactly
  SELECT guesses FROM otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text,
                                    %(failed_hour)s::int, %(failed_day)s::int,
                                    :first_id, :last_id)),
current AS (
  SELECT id, expires_at, attempts, max_attempts, key_id, length FROM standing
  WHERE verified_at IS NULL AND attempts < max_attempts AND key_id = ANY(%(key_ids)s::text[])
    AND expires_at >= now() + make_interval(secs => %(resend_margin)s)),
allowed AS (
  SELECT FROM cap, (SELECT count(*) FROM standing) AS first
  WHERE {not_blocked} AND guesses > 0),
payer AS ({payer}),
superseded AS (
  UPDATE otp_verification SET superseded_at = now(),  -- an expired one has nothing left to end
    settled_at = CASE WHEN verified_at IS NULL AND expires_at <= now() THEN now()
                      ELSE settled_at END
  WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
    AND purpose = %(purpose)s::text AND superseded_at IS NULL AND {recent}
    AND EXISTS (SELECT 1 FROM payer) AND NOT EXISTS (SELECT 1 FROM current)
  RETURNING id),
made AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
                                max_attempts, expires_at)
  SELECT %(verification_id)s, company_id, %(mode)s::text, %(phone)s::text, %(purpose)s::text,
         %(mac)s::bytea, %(key_id)s::text, %(length)s, %(max_attempts)s,
         now() + make_interval(secs => %(lifetime)s)
  FROM payer, (SELECT count(*) FROM superseded) AS first  -- read, so that it runs first
  WHERE NOT EXISTS (SELECT 1 FROM current)
  RETURNING id, expires_at, attempts, max_attempts, key_id, length),
code AS (SELECT * FROM current UNION ALL SELECT * FROM made),
message AS ({message}){more}
SELECT EXISTS (SELECT 1 FROM payer) AS is_paid, NOT ({not_blocked}) AS is_blocked,
       guesses = 0 AS is_capped, EXTRACT(epoch FROM code.expires_at - now())::float AS expires_in,
       LEAST(code.max_attempts - code.attempts, guesses) AS attempts_left
FROM cap LEFT JOIN code ON true
"""

_MESSAGE = channels_sql.INSERT_MESSAGE.format(
    subject_id="code.id",
    params="""%(params)s::jsonb || jsonb_build_object('key', code.key_id, 'length', code.length,
    'minutes', GREATEST(1, floor(EXTRACT(epoch FROM code.expires_at - now()) / 60))::int)""",
    useful_until="GREATEST(code.expires_at, now() + make_interval(secs => %(least_use)s))",
    joined=", code",
)


@cache
def send(*, is_test: bool, has_link: bool, has_key: bool, link_dies: bool = False) -> str:
    """Returns the statement for this combination; each one is prepared once per connection."""
    more = "" if is_test else f",\nhold AS ({holds.HOLD_TRANSFER})"
    if has_link:
        insert = links_sql.INSERT_WITH_CODE if link_dies else links_sql.INSERT
        more += f",\nlink AS ({insert})"
    if has_key:
        more += f",\nidempotency_key AS ({idempotency.INSERT})"
    statement = _SEND.format(
        recent=_RECENT,
        not_blocked=channels_sql.NOT_BLOCKED,
        payer=channels_sql.FREE_PAYER if is_test else holds.HOLD_WALLET,
        message=_MESSAGE,
        more=more,
    )
    return channels_sql.compact(statement)


# Live sends of codes that come together: `asked` has a row for each. Left out, and run alone, are
# sends that are refused, and those whose code is locked by somebody else, or whose wallet, in a
# group of several companies. A group of one company waits for its wallet, which cannot deadlock.
_SEND_TOGETHER = """
WITH asked AS MATERIALIZED (
  SELECT * FROM {asked}),
standing AS (
  SELECT n.number, v.id, v.expires_at, v.attempts, v.max_attempts, v.key_id, v.length, v.verified_at
  FROM asked n JOIN otp_verification v ON v.company_id = n.company_id AND v.mode = n.mode
    AND v.phone = n.phone AND v.purpose = n.purpose AND v.superseded_at IS NULL
    AND v.id BETWEEN :first_id AND :last_id
  FOR NO KEY UPDATE OF v SKIP LOCKED),
allowed AS MATERIALIZED (
  SELECT n.*, cap.guesses, s.id AS standing_id, s.expires_at, s.attempts, s.max_attempts,
    s.key_id AS standing_key, s.length AS standing_length, COALESCE(s.verified_at IS NULL
      AND s.attempts < s.max_attempts AND s.key_id = ANY(%(key_ids)s::text[])
      AND s.expires_at >= now() + make_interval(secs => %(resend_margin)s), false) AS is_current
  FROM asked n LEFT JOIN standing s USING (number) CROSS JOIN LATERAL otp_guess_cap(
    n.company_id, n.mode, n.phone, %(failed_hour)s::int, %(failed_day)s::int,
    :first_id, :last_id) AS cap
  WHERE {not_blocked} AND cap.guesses > 0 AND (n.idem_key IS NULL OR NOT EXISTS (
    SELECT 1 FROM api_idempotentrequest k WHERE k.company_id = n.company_id
      AND k.mode = n.mode AND k.path = n.idem_path AND k.key = n.idem_key))
    AND NOT EXISTS (  -- its code is locked by somebody else
    SELECT 1 FROM otp_verification v WHERE v.company_id = n.company_id AND v.mode = n.mode
      AND v.phone = n.phone AND v.purpose = n.purpose AND v.superseded_at IS NULL
      AND v.id BETWEEN :first_id AND :last_id AND v.id IS DISTINCT FROM s.id)),
charged AS ({charged}),
payer AS MATERIALIZED (
  SELECT a.*, CASE WHEN is_current THEN standing_id ELSE verification_id END AS subject_id,
    CASE WHEN is_current THEN standing_key ELSE key_id END AS code_key,
    CASE WHEN is_current THEN standing_length ELSE length END AS code_length,
    CASE WHEN is_current THEN expires_at
      ELSE now() + make_interval(secs => %(lifetime)s) END AS ends_at,
    LEAST(CASE WHEN is_current THEN max_attempts - attempts ELSE %(max_attempts)s END, guesses)
      AS attempts_left
  FROM allowed a JOIN charged USING (company_id)),
superseded AS (
  UPDATE otp_verification v SET superseded_at = now(),
    settled_at = CASE WHEN v.verified_at IS NULL AND v.expires_at <= now() THEN now()
                      ELSE v.settled_at END
  FROM payer WHERE v.id = payer.standing_id AND NOT payer.is_current
    AND v.id BETWEEN :first_id AND :last_id
  RETURNING v.id),
made AS (
  INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
                                max_attempts, expires_at)
  SELECT verification_id, company_id, mode, phone, purpose, mac, key_id, length,
         %(max_attempts)s, ends_at
  FROM payer, (SELECT count(*) FROM superseded) AS first WHERE NOT is_current),
message AS ({message}),
hold AS ({hold}),
idempotency_key AS ({idempotency_key} WHERE idem_key IS NOT NULL)
SELECT number, EXTRACT(epoch FROM ends_at - now())::float AS expires_in, attempts_left FROM payer
"""
_ASKED = """number int, message_id uuid, company_id bigint, api_key_id bigint, mode text, kind text,
content text, channel text, chain jsonb, patience float, phone text, locale text, request_id text,
price bigint, segments int, priority int, hold_seconds float, country text, day_budget bigint,
hour_budget bigint, key_limit bigint, idem_path text, idem_key text, idem_hash bytea,
verification_id uuid, purpose text, mac bytea, key_id text, length int, params jsonb"""


def send_together(*, of_one_company: bool) -> str:
    return _OF_ONE_COMPANY if of_one_company else _OF_SEVERAL_COMPANIES


def _group_statement(charged: str) -> str:
    statement = _SEND_TOGETHER.format(
        asked=json_rows("asked", _ASKED),
        not_blocked=channels_sql.of_rows("n", channels_sql.NOT_BLOCKED),
        charged=charged,
        message=channels_sql.of_rows("payer", _MESSAGE_TOGETHER),
        hold=channels_sql.of_rows("payer", holds.HOLD_TRANSFER),
        idempotency_key=channels_sql.of_rows("payer", idempotency.INSERT),
    )
    return channels_sql.compact(statement)


_MESSAGE_TOGETHER = channels_sql.INSERT_MESSAGE.format(
    subject_id="payer.subject_id",
    params="""payer.params || jsonb_build_object('key', payer.code_key, 'length',
    payer.code_length, 'minutes',
    GREATEST(1, floor(EXTRACT(epoch FROM payer.ends_at - now()) / 60))::int)""",
    useful_until="payer.ends_at",
    joined="",
)
_OF_ONE_COMPANY = _group_statement(holds.HOLD_WALLETS)
_OF_SEVERAL_COMPANIES = _group_statement(holds.HOLD_FREE_WALLETS)


_GUESSES = "number int, company_id bigint, mode text, phone text, purpose text, macs bytea[]"

# Spends the attempt and consumes a right code: one round trip, one commit. Checks of one phone are
# serialised, so they share neither an attempt nor a success, and never exceed the cap. The
# function `otp_judge` is in `otp/judge.sql`.
CHECK_CODE = """
SELECT judged_id, right_at, attempts_left FROM otp_judge(
  %(company_id)s, %(mode)s::text, %(phone)s::text, %(purpose)s::text, %(macs)s::bytea[],
  %(failed_hour)s::int, %(failed_day)s::int, :first_id, :last_id)
WHERE judged_id IS NOT NULL
"""

# The same for guesses that come together. One whose code, or whose turn, somebody else has is left
# out: so no guess waits for another company's, and no two groups for each other.
CHECK_CODES = f"""
SELECT number, judged_id, right_at, attempts_left
FROM (
  SELECT * FROM {json_rows("guesses", _GUESSES)}
  WHERE EXISTS (
      SELECT 1 FROM otp_verification v WHERE v.company_id = n.company_id AND v.mode = n.mode
        AND v.phone = n.phone AND v.purpose = n.purpose AND v.superseded_at IS NULL
        AND v.id BETWEEN :first_id AND :last_id
      FOR NO KEY UPDATE SKIP LOCKED)
    AND pg_try_advisory_xact_lock(
      hashtextextended('guess:' || company_id || ':' || mode || ':' || phone, 0))
  OFFSET 0) AS free
CROSS JOIN LATERAL otp_judge(company_id, mode, phone, purpose, macs,
  %(failed_hour)s::int, %(failed_day)s::int, :first_id, :last_id)
WHERE judged_id IS NOT NULL
"""  # noqa: S608

# Why no code was checked; read only after CHECK_CODE returned no row.
REFUSAL_STATE = f"""
SELECT verified_at IS NOT NULL AS is_used, expires_at <= now() AS is_expired,
       attempts >= max_attempts OR guesses = 0 AS is_exhausted
FROM otp_verification, otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text,
                                     %(failed_hour)s::int, %(failed_day)s::int,
                                     :first_id, :last_id)
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND purpose = %(purpose)s::text AND superseded_at IS NULL AND {_RECENT}
ORDER BY id DESC LIMIT 1
"""  # noqa: S608 - constants of this file

# Seconds until the cap on wrong guesses lets a new code be sent: until enough of them are older
# than an hour and a day, or the last one is older than an hour.
SECONDS_UNTIL_ALLOWED = f"""
SELECT EXTRACT(epoch FROM LEAST(
         GREATEST(max(judged_at) FILTER (WHERE so_far >= %(failed_hour)s) + interval '1 hour',
                  max(judged_at) FILTER (WHERE so_far >= %(failed_day)s) + interval '24 hours',
                  now()),
         CASE WHEN max(judged_at) FILTER (WHERE verified_at IS NULL)
                   > COALESCE(max(verified_at), '-infinity')
              THEN max(judged_at) FILTER (WHERE verified_at IS NULL) + interval '1 hour'
              ELSE now() END) - now())::float
FROM (SELECT judged_at, verified_at,
             sum(attempts - (verified_at IS NOT NULL)::int) OVER (ORDER BY judged_at DESC) AS so_far
      FROM otp_verification
      WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
        AND judged_at > now() - interval '24 hours' AND {_RECENT}) AS lately
"""  # noqa: S608

# Codes that ended before they expired: superseded, or out of attempts. Their links may still live.
_ENDED_EARLY = """
verified_at IS NULL AND settled_at IS NULL AND expires_at > now()
AND (superseded_at IS NOT NULL OR attempts >= max_attempts)
AND id BETWEEN :first_id AND :last_id"""
SETTLE_ENDED_EARLY = f"""
UPDATE otp_verification SET settled_at = now()
WHERE id BETWEEN :first_id AND :last_id AND id = ANY(ARRAY(
  SELECT id FROM otp_verification WHERE {_ENDED_EARLY}
  ORDER BY expires_at LIMIT %s FOR NO KEY UPDATE SKIP LOCKED))
RETURNING id
"""  # noqa: S608

# A query of its own: workers ask often and mostly find nothing.
HAS_UNSETTLED = f"""
SELECT
  EXISTS (SELECT 1 FROM otp_verification WHERE verified_at IS NOT NULL AND settled_at IS NULL
            AND id BETWEEN :first_id AND :last_id),
  EXISTS (SELECT 1 FROM otp_verification WHERE {_ENDED_EARLY})
"""  # noqa: S608

# Settles the right codes with nothing left to prove, cancel, end or tell: each of their messages
# came to its end, brought no link, and the company gets no webhooks. Leaves the others, and counts
# in `due` all that it met.
SETTLE_FINISHED = f"""
WITH due AS (
  SELECT v.id, (  -- not EXISTS, for which PostgreSQL may read all messages at once
      SELECT count(*) FROM channels_message m
      WHERE m.subject_id = v.id AND m.id BETWEEN :first_id AND :last_id
        AND (m.state IN ('queued', 'sent') OR m.params ->> 'link' IS NOT NULL)) > 0
    OR {events.has_endpoint_sql("v")} AS is_unfinished
  FROM otp_verification v WHERE verified_at IS NOT NULL AND settled_at IS NULL
    AND id BETWEEN :first_id AND :last_id
  ORDER BY verified_at LIMIT %s FOR NO KEY UPDATE OF v SKIP LOCKED),
settled AS (
  UPDATE otp_verification v SET settled_at = now() FROM due
  WHERE v.id = due.id AND v.id BETWEEN :first_id AND :last_id AND NOT due.is_unfinished
  RETURNING v.id)
SELECT (SELECT count(*) FROM settled) AS settled, (SELECT count(*) FROM due) AS due
"""  # noqa: S608

_FAILED = """EXISTS (SELECT FROM accounts_jobfailure f
  WHERE f.job = 'settlement' AND f.subject = otp_verification.id::text) AS has_failed"""
# Right codes whose delivery is not settled yet: the oldest, or those of the given ids.
_UNSETTLED = f"""
SELECT id, {_FAILED} FROM otp_verification WHERE verified_at IS NOT NULL AND settled_at IS NULL
  AND id BETWEEN :first_id AND :last_id"""  # noqa: S608
UNSETTLED = f"""{_UNSETTLED} AND {not_waiting_sql("settlement", "otp_verification.id::text")}
ORDER BY verified_at LIMIT %s"""
# Claimed for this transaction.
CLAIM_VERIFIED = f"{UNSETTLED} FOR NO KEY UPDATE SKIP LOCKED"
CLAIM_THESE = f"""{_UNSETTLED} AND id = ANY(%s::uuid[])
ORDER BY verified_at FOR NO KEY UPDATE SKIP LOCKED"""

# The event `otp.verified`, written in the round trip that settles.
_VERIFIED = f"""
SELECT event_id AS id, company_id, mode, 'otp.verified' AS kind,
  'otp_' || replace(id::text, '-', '') AS key, jsonb_build_object(
    'id', 'otp_' || replace(id::text, '-', ''), 'phone', phone, 'purpose', purpose,
    'test', mode = 'test', 'verified_at', {events.iso_sql("verified_at")}) AS data,
  verified_at AS at
FROM settled"""  # noqa: S608

SETTLE_VERIFIED = f"""
WITH settled AS (
  UPDATE otp_verification v SET settled_at = now()
  FROM unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id)
  WHERE v.id = n.id AND v.id BETWEEN :first_id AND :last_id
  RETURNING v.id, company_id, mode, phone, purpose, verified_at, n.event_id),
{events.append_sql(_VERIFIED)}
"""  # noqa: S608

# Also supersedes them: two cut phones could collide on the unique index of live rows.
ANONYMISE_PHONES = """
UPDATE otp_verification
SET superseded_at = COALESCE(superseded_at, now()),
  settled_at = CASE WHEN verified_at IS NULL THEN now() ELSE settled_at END,
  phone = left(phone, 5) || '*'
WHERE id IN (SELECT id FROM otp_verification
             WHERE created_at < now() - make_interval(days => %s) AND phone NOT LIKE '%%*'
             ORDER BY created_at LIMIT %s)
"""

# Codes sent in messages of a period, and how many were entered right. Code ids begin with their
# creation time, so the range skips the codes of other periods.
COUNT_CODES = """
SELECT m.company_id, m.mode, count(DISTINCT v.id) AS codes,
       count(DISTINCT v.id) FILTER (WHERE v.verified_at IS NOT NULL) AS verified
FROM channels_message m JOIN otp_verification v ON v.id = m.subject_id
WHERE m.kind = 'code' AND m.created_at >= %(start)s AND m.created_at < %(end)s AND {scope}
  AND v.id >= %(first_id)s AND v.id < %(last_id)s
GROUP BY 1, 2
"""
# The first condition repeats that of the partial index on `created_at`.
ALL_COMPANIES, ONE_COMPANY = (
    "m.phone NOT LIKE '%%*'",
    "m.company_id = %(company_id)s AND m.mode = %(mode)s",
)

# A column beside the company's row `c`: its texts, and its autofill lines under an empty language.
OWN_TEXTS = """
(SELECT jsonb_agg(jsonb_build_array(locale, purpose, channel, body)) FROM (
   SELECT locale, purpose, channel, body FROM otp_codetext t WHERE t.company_id = c.id
   UNION ALL
   SELECT '', webotp_host, app_hash, '' FROM otp_autofill f WHERE f.company_id = c.id) AS own)"""
SELECT_OWN_TEXTS = f"SELECT {OWN_TEXTS} FROM accounts_company c WHERE c.id = %s"  # noqa: S608
