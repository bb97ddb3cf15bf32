"""SQL of codes: send, check, settle, anonymise, count."""

from datetime import timedelta
from functools import cache

from accounts.jobs import not_waiting_sql
from api import idempotency
from billing.wallet import holds
from channels import sql as channels_sql
from channels.recipients import blocked_phones
from links import sql as links_sql
from storage.months.recent_ids import months_of_last, within
from storage.statements import sql_files
from webhooks import events

CLOCK_SKEW = timedelta(minutes=10)  # allowed between our clock and the database's

# Codes of earlier months are history, and are not looked at. A month's first days look at the month
# before as well, its last ones at the month after.
_RECENT = "id BETWEEN :first_id AND :last_id"


def in_live_months(statement: str) -> str:
    """The statement for codes of these months."""
    return within(statement, months_of_last(days=3))


SEALED_CODES = "SELECT message_id, key_id, sealed FROM otp_sealedcode WHERE message_id = ANY(%s)"
# A fragment of the send's statement, and what is left over at the end of a code's life.
INSERT_SEALED_CODE = """
INSERT INTO otp_sealedcode (message_id, verification_id, key_id, sealed, expires_at)
SELECT message_id, subject_id, %(sealed_key_id)s::text, %(sealed)s::bytea, useful_until
FROM payer"""
WIPE_EXPIRED_CODES = "DELETE FROM otp_sealedcode WHERE expires_at <= now()"

# The code that is live for a phone and a purpose, if it is the one that is asked for, as in
# `send.sql`; and the same, locked.
LIVE_VERIFICATION = f"""
SELECT id FROM otp_verification
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND purpose = %(purpose)s::text AND superseded_at IS NULL AND verified_at IS NULL
  AND attempts < max_attempts AND expires_at > now() AND {_RECENT}
  AND length = COALESCE(%(asked_length)s::int, length)
  AND binding IS NOT DISTINCT FROM %(binding)s::jsonb
  AND CASE WHEN is_custom THEN mac = ANY(%(custom_macs)s::bytea[])
      ELSE %(custom_macs)s::bytea[] IS NULL END
ORDER BY id DESC LIMIT 1"""  # noqa: S608
LOCK_LIVE_VERIFICATION = f"{LIVE_VERIFICATION} FOR NO KEY UPDATE"
TRIED_CHANNELS = """
SELECT DISTINCT unnest(ARRAY[m.channel, a.channel]) FROM channels_message m
LEFT JOIN channels_attempt a
  ON a.message_id = m.id AND a.message_id BETWEEN :first_id AND :last_id
WHERE m.subject_id = %s AND m.id BETWEEN :first_id AND :last_id"""
# The first message of a custom code that lives still, entered or not.
REPEATED_MESSAGE = """
SELECT m.id AS message_id, v.id AS verification_id, v.verified_at IS NOT NULL AS is_entered
FROM otp_verification v JOIN channels_message m ON m.subject_id = v.id
WHERE v.company_id = %(company_id)s AND v.mode = %(mode)s::text AND v.phone = %(phone)s::text
  AND v.purpose = %(purpose)s::text AND v.superseded_at IS NULL AND v.is_custom
  AND v.mac = ANY(%(macs)s::bytea[]) AND v.expires_at > now()
  AND v.id BETWEEN :first_id AND :last_id AND m.id BETWEEN :first_id AND :last_id
  AND m.reference = %(reference)s::text
ORDER BY m.id LIMIT 1"""
# The company's newest message to a phone within a day, the longest cool-down.
NEWEST_MESSAGE = """
SELECT id FROM channels_message
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND created_at > now() - interval '1 day' AND id BETWEEN :first_id AND :last_id
ORDER BY created_at DESC LIMIT 1"""

_SEND = sql_files.read("otp/send/send.sql")
_SEND_ONE = sql_files.with_scalar_params(_SEND)


@cache
def send(
    *,
    is_test: bool,
    has_link: bool,
    has_key: bool,
    link_dies: bool = False,
    has_custom_code: bool = False,
) -> str:
    """The statement of one send; each combination is prepared once per connection."""
    parts = "" if is_test else f",\nhold AS ({holds.HOLD_TRANSFER})"
    if has_link:
        insert = links_sql.INSERT_WITH_CODE if link_dies else links_sql.INSERT
        parts += f",\nlink AS ({insert})"
    if has_key:
        parts += f",\nidempotency_key AS ({idempotency.INSERT})"
    if has_custom_code:
        parts += f",\nsealed_code AS ({INSERT_SEALED_CODE})"
    return sql_files.fill(
        _SEND_ONE,
        is_alone="true",
        skip_locked="",
        blocking_row=blocked_phones.BLOCKING_ROW,
        payer=holds.FREE_PAYER if is_test else holds.HOLD_WALLET,
        message=channels_sql.INSERT_MESSAGE,
        more=parts,
    )


def _group(payer: str) -> str:
    return sql_files.fill(
        _SEND,
        is_alone="false",
        skip_locked="SKIP LOCKED",
        blocking_row=blocked_phones.BLOCKING_ROW,
        payer=payer,
        message=channels_sql.INSERT_MESSAGE,
        more=f""",
hold AS ({holds.HOLD_TRANSFER}),
idempotency_key AS ({idempotency.INSERT} WHERE idem_key IS NOT NULL)""",
    )


# Live sends that come together. Those of one company wait for its wallet, which cannot deadlock;
# in a group of several companies a locked wallet is skipped.
SEND_OF_ONE_COMPANY = _group(holds.HOLD_WALLETS)
SEND_OF_SEVERAL_COMPANIES = _group(holds.HOLD_FREE_WALLETS)

_CHECK = sql_files.read("otp/check/check.sql")
CHECK_CODE = sql_files.fill(sql_files.with_scalar_params(_CHECK), is_alone="true")
CHECK_CODES = sql_files.fill(_CHECK, is_alone="false")

# Why no code was checked; read only after CHECK_CODE returned no row.
_REFUSAL_STATE = f"""
SELECT verified_at IS NOT NULL AS is_used, expires_at <= now() AS is_expired,
       attempts >= max_attempts OR guesses = 0 AS is_exhausted,
       cancelled_at IS NOT NULL AS is_cancelled,
       superseded_at IS NOT NULL AND superseded_at < expires_at AS is_superseded,
       binding IS DISTINCT FROM %(binding)s::jsonb AS is_bound_otherwise
FROM otp_verification, otp_guess_cap(%(company_id)s, %(mode)s::text, %(phone)s::text,
                                     %(failed_hour)s::int, %(failed_day)s::int,
                                     :first_id, :last_id)
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND purpose = %(purpose)s::text AND {{which}} AND {_RECENT}
ORDER BY id DESC LIMIT 1
"""  # noqa: S608 - constants of this file
REFUSAL_STATE = _REFUSAL_STATE.format(which="superseded_at IS NULL")
REFUSAL_STATE_OF_ID = _REFUSAL_STATE.format(which="id = %(verification_id)s::uuid")
PHONE_OF_ID = """
SELECT phone, purpose FROM otp_verification
WHERE id = %(verification_id)s AND company_id = %(company_id)s AND mode = %(mode)s::text
"""

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

# Right codes of ours in messages that these accounts delivered: of each account the last one. A
# message of theirs that is only accepted is not the one that was read: settlement chose another.
ENTERED_AT_VENDORS = """
SELECT DISTINCT ON (v.id, a.provider)
  v.id AS verification_id, v.key_id, v.length, a.provider, a.provider_id
FROM otp_verification v JOIN channels_message m ON m.subject_id = v.id
JOIN channels_attempt a ON a.message_id = m.id
WHERE v.id = ANY(%s::uuid[]) AND v.verified_at IS NOT NULL AND NOT v.is_custom
  AND a.provider = ANY(%s::text[]) AND a.provider_id IS NOT NULL AND a.state = 'delivered'
  AND v.id BETWEEN :first_id AND :last_id AND m.id BETWEEN :first_id AND :last_id
  AND a.message_id BETWEEN :first_id AND :last_id
ORDER BY v.id, a.provider, a.started_at DESC"""

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
  EXISTS (SELECT 1 FROM otp_verification WHERE {_ENDED_EARLY}),
  EXISTS (SELECT 1 FROM otp_sealedcode WHERE expires_at <= now())
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
    'door', newest.door, 'reference', NULLIF(newest.reference, ''), 'metadata', newest.metadata,
    'test', mode = 'test', 'verified_at', {events.iso_sql("verified_at")}) AS data,
  verified_at AS at,
  (SELECT m.params->'callback' FROM channels_message m
   WHERE m.subject_id = settled.id AND m.id BETWEEN :first_id AND :last_id AND m.params ? 'callback'
   ORDER BY m.id DESC LIMIT 1) AS callback
FROM settled LEFT JOIN LATERAL (
  SELECT m.reference, m.params->'metadata' AS metadata, m.params->'door' AS door
  FROM channels_message m
  WHERE m.subject_id = settled.id AND m.id BETWEEN :first_id AND :last_id
  ORDER BY m.id DESC LIMIT 1) AS newest ON true"""  # noqa: S608

SETTLE_VERIFIED = f"""
WITH settled AS (
  UPDATE otp_verification v SET settled_at = now()
  FROM unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id)
  WHERE v.id = n.id AND v.id BETWEEN :first_id AND :last_id
  RETURNING v.id, company_id, mode, phone, purpose, verified_at, n.event_id),
{events.append_sql(_VERIFIED, has_callback=True)}
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

# A column beside the company's row `c`: its texts, and its autofill lines under an empty language.
OWN_TEXTS = """
(SELECT jsonb_agg(jsonb_build_array(locale, purpose, channel, body)) FROM (
   SELECT locale, purpose, channel, body FROM otp_codetext t WHERE t.company_id = c.id
   UNION ALL
   SELECT '', webotp_host, app_hash, '' FROM otp_autofill f WHERE f.company_id = c.id) AS own)"""
SELECT_OWN_TEXTS = f"SELECT {OWN_TEXTS} FROM accounts_company c WHERE c.id = %s"  # noqa: S608
