"""SQL statements of the send path. The comment on each says what it guarantees.

Lock order: verification → link → message → attempt → inserts → wallet (docs/architecture.md). An
open message's row in the queue is written by triggers, under its message's lock.
"""

from catalogue.channels import CHANNELS
from storage.months.recent_ids import months_of_last, within
from storage.statements.json_rows import json_rows
from storage.statements.sql_files import compact
from webhooks import events

# A fragment of the statements that accept sends: `payer` has a row for each that is paid for.
INSERT_MESSAGE = """
INSERT INTO channels_message (
  id, company_id, api_key_id, mode, kind, content, channel, chain, phone, subject_id, params,
  locale, request_id, price, segments, priority, useful_until, deadline, fallback_at)
SELECT message_id, company_id, api_key_id, mode, kind, content, channel, chain, phone, subject_id,
  message_params, locale, request_id, price, segments, priority, useful_until,
  now() + make_interval(secs => hold_seconds), now() + make_interval(secs => patience)
FROM payer"""

# Claims due messages and writes their attempts in one commit. The queue says which may be due; the
# message, locked, whether it is. One worker only claims it (SKIP LOCKED, due_at cleared). Skips
# messages without a usable account or with too little useful time left. Returns everything
# needed to send.
#
# A message that no account of ours can carry now is passed over in the queue itself: to look at it
# and choose among accounts takes ten times as long, and there may be thousands before a code.
#
# Chooses among accounts that may carry the message and have not reported this recipient
# unreachable: first those that have not failed it, then the longest matching phone prefix, then the
# operator's order, then a random choice by the weights and by whose codes are entered more often.
# `has_other_account`: another is left if this one fails; `has_contact_account`: another that
# has a contact of this recipient.
_CLAIM = """
WITH {counted}
route AS MATERIALIZED (
  SELECT w.mode, w.channel, w.content, w.provider, w.needs_contact, w.is_sole,
    w.is_ours, COALESCE(a.position, w.position) AS position,
    COALESCE(a.weight * a.share_factor, 1) AS weight, a.prefixes, {use}
  FROM json_to_recordset(%(routes)s::json) AS w(mode text, channel text, content text,
      provider text, needs_contact bool, is_sole bool, is_ours bool, position int)
    LEFT JOIN channels_provideraccount a ON a.name = w.provider {with_use}
  WHERE a.id IS NULL OR {is_counted}
    OR (a.is_enabled AND a.open_until IS NULL AND a.max_per_second IS NULL)),
due AS (
  SELECT m.id, o.priority, o.due_at, chosen.*
  FROM channels_openmessage o JOIN channels_message m ON m.id = o.message_id
  CROSS JOIN LATERAL (
    SELECT r.provider, r.needs_contact, r.allowance, r.trips, r.is_ours,
      count(*) FILTER (WHERE fit.rank = 0) OVER () > 1 AS has_other_account,
      count(*) FILTER (WHERE r.needs_contact AND fit.rank = 0) OVER ()
        > r.needs_contact::int AS has_contact_account
    FROM route r CROSS JOIN LATERAL (
      SELECT COALESCE((
          SELECT max(1 + (error_class IN ('unreachable', 'barred'))::int) FROM channels_attempt
          WHERE m.tries > 0 AND message_id = m.id AND provider = r.provider
            AND message_id BETWEEN :first_id AND :last_id), 0) AS rank,
        CASE WHEN COALESCE(cardinality(r.prefixes), 0) = 0 THEN 0 ELSE (
          SELECT max(length(one)) FROM unnest(r.prefixes) AS one
          WHERE starts_with(m.phone, one)) END AS prefix
      OFFSET 0) fit
    WHERE r.mode = m.mode AND r.channel = m.channel AND r.content = m.content
      AND fit.prefix IS NOT NULL AND fit.rank < 2
      AND (NOT r.needs_contact OR r.is_sole OR %(assume_contact)s OR EXISTS (
        SELECT 1 FROM channels_contact WHERE phone = m.phone AND blocked_at IS NULL))
    ORDER BY fit.rank, fit.prefix DESC, r.position, -ln(1 - random()) / r.weight
    LIMIT 1) chosen
  WHERE chosen.is_ours AND o.due_at <= now() AND m.due_at <= now()
    AND o.route_key = ANY(ARRAY(SELECT concat_ws(' ', mode, channel, content) FROM route
      WHERE is_ours))
    AND m.state IN ('queued', 'sent') AND m.id BETWEEN :first_id AND :last_id
    AND m.useful_until > now() + make_interval(secs => %(margin)s)
  ORDER BY o.priority, o.due_at LIMIT %(limit)s FOR UPDATE OF m SKIP LOCKED),
{picked}
claimed AS (
  UPDATE channels_message m SET due_at = NULL, tries = m.tries + 1
  FROM picked p WHERE m.id = p.id AND m.id BETWEEN :first_id AND :last_id
  RETURNING m.*, p.provider, p.needs_contact, p.allowance, p.trips, p.has_other_account,
    p.has_contact_account),
intent AS (
  INSERT INTO channels_attempt
    (id, message_id, n, hold, price, channel, provider, state, lease_until)
  SELECT gen_random_uuid(), id, tries, hold, price, channel, provider, 'submitting',
         now() + make_interval(secs => %(lease)s)
  FROM claimed RETURNING id, message_id)
SELECT intent.id AS attempt_id, c.id AS message_id, c.tries AS n, c.kind, c.content, c.phone,
  c.subject_id, c.params, c.locale, c.mode, c.provider,
  EXTRACT(epoch FROM c.useful_until - now())::int AS ttl,
  CASE WHEN k.blocked_at IS NULL THEN k.chat_id ELSE 0 END AS chat_id,
  c.allowance IS NOT NULL AS is_counted, c.trips, c.has_other_account, c.has_contact_account,
  c.channel, c.price,
  CASE WHEN c.tries = 1 AND NOT {has_subscribers} THEN pg_current_xact_id()::xid::text END
    AS first_claim
FROM claimed c JOIN intent ON intent.message_id = c.id
LEFT JOIN channels_contact k
  ON c.needs_contact AND k.phone = c.phone
"""

_HAS_SUBSCRIBERS = events.has_endpoint_sql("c")

# For when no account is counted; it skips counted accounts, and costs half as much.
CLAIM = _CLAIM.format(
    counted="",
    use="NULL::int AS allowance, NULL::int AS trips",
    with_use="",
    is_counted="false",
    has_subscribers=_HAS_SUBSCRIBERS,
    picked="picked AS (SELECT * FROM due),",
)

# The messages an account's rate allows right now: GCRA with a burst of a tenth of a second.
_RATE_ALLOWANCE = """floor(1e-6 + max_per_second * (GREATEST(0.1, 1.0 / max_per_second)
        - GREATEST(0, EXTRACT(epoch FROM COALESCE(tat, now()) - now()))))"""

# The same for when a rate limit, or the single probe of a half-open breaker, bounds the claims of
# an account. Locks these accounts first, so that concurrent workers share the allowance.
CLAIM_COUNTED = compact(
    _CLAIM.format(
        counted=f"""
counted AS MATERIALIZED (
  SELECT name, CASE WHEN open_until IS NOT NULL THEN trips END AS trips, LEAST(
      CASE WHEN open_until IS NOT NULL THEN 1 END,
      CASE WHEN max_per_second IS NOT NULL THEN {_RATE_ALLOWANCE} END) AS allowance
  FROM channels_provideraccount
  WHERE is_enabled AND (open_until IS NOT NULL OR max_per_second IS NOT NULL)
    AND (open_until IS NULL OR (open_until <= now() AND (
      probed_at IS NULL OR probed_at < now() - make_interval(secs => %(lease)s))))
    AND (max_per_second IS NULL OR {_RATE_ALLOWANCE} >= 1)
    AND EXISTS (SELECT 1 FROM channels_openmessage WHERE due_at <= now())
  ORDER BY name FOR UPDATE),""",  # noqa: S608
        use="u.allowance, u.trips",
        with_use="LEFT JOIN counted u ON u.name = w.provider",
        is_counted="u.name IS NOT NULL",
        has_subscribers=_HAS_SUBSCRIBERS,
        picked="""
picked AS (
  SELECT * FROM (
    SELECT due.*, row_number() OVER (PARTITION BY provider ORDER BY priority, due_at) AS row_number
    FROM due) p
  WHERE allowance IS NULL OR row_number <= allowance),
used AS (
  UPDATE channels_provideraccount a SET
    tat = GREATEST(a.tat, now()) + make_interval(secs => t.n::float / a.max_per_second),
    probed_at = CASE WHEN a.open_until IS NULL THEN NULL ELSE now() END
  FROM (SELECT provider, count(*) AS n FROM picked WHERE allowance IS NOT NULL GROUP BY 1) t
  WHERE a.name = t.provider),""",
    )
)

# What is looked up by another id than the message's is looked for in the months of these days
# alone: nothing changes an older message.
_DAYS_OF_CHANGE = 100


def recent(statement: str) -> str:
    """The statement for messages and receipts that may still change."""
    return within(statement, months_of_last(_DAYS_OF_CHANGE))


# Locks messages in the common order. A message's lock also protects its attempts: every writer of
# their states takes it first. Joined, so that each id is looked up in its own month.
LOCK_MESSAGES = """
SELECT m.id FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message m ON m.id = wanted.id
WHERE m.id BETWEEN :first_id AND :last_id
ORDER BY m.id FOR UPDATE OF m
"""

LOCK_BY_SUBJECTS = """
SELECT id FROM channels_message WHERE subject_id = ANY(%s) AND id BETWEEN :first_id AND :last_id
ORDER BY id FOR UPDATE
"""

# Skips messages that others have locked; the next sweep sees them again.
LOCK_PATIENCE_EXPIRED = """
SELECT id FROM channels_message
WHERE id = ANY(%s) AND id BETWEEN :first_id AND :last_id AND fallback_at <= now()
  AND state IN ('queued', 'sent')
ORDER BY id FOR UPDATE SKIP LOCKED
"""

# Messages with all their attempts. Read after the lock, so as the last commit left them.
LOAD_MESSAGES = f"""
SELECT m.id, m.company_id, m.mode, m.kind, m.channel, m.chain, m.phone, m.state, m.error, m.tries,
  m.hold, m.price, EXTRACT(epoch FROM m.useful_until - now())::float AS time_left, m.subject_id,
  {events.has_endpoint_sql("m")} AS has_subscribers,
  EXTRACT(epoch FROM m.due_at - now())::float AS due_in, m.is_owed,
  m.api_key_id,
  a.id AS attempt_id, a.n AS attempt_n, a.hold AS attempt_hold, a.state AS attempt_state,
  a.provider AS attempt_provider, a.provider_id AS attempt_provider_id, a.polls AS attempt_polls,
  a.channel AS attempt_channel, a.price AS attempt_price, a.error_class AS attempt_error_class
FROM unnest(%s::uuid[]) AS wanted(id) JOIN channels_message m ON m.id = wanted.id
LEFT JOIN channels_attempt a
  ON a.message_id = m.id AND a.message_id BETWEEN :first_id AND :last_id
WHERE m.id BETWEEN :first_id AND :last_id ORDER BY m.id, a.n
"""  # noqa: S608

# The attempt that a used code or link proves delivered. Among the subject's open messages, or of
# the clicked message alone: the cheapest attempt a vendor has, accepted before ambiguous ones; else
# one that ended when patience ran out, which is free. None if a message of the subject is delivered
# already. Read under the messages' locks, so that a receipt just applied is seen.
PROVED_ATTEMPTS = """
SELECT (
  SELECT a.id FROM channels_message m JOIN channels_attempt a ON a.message_id = m.id
  WHERE m.subject_id = v.subject_id AND m.id BETWEEN :first_id AND :last_id
    AND a.message_id BETWEEN :first_id AND :last_id AND m.state IN ('queued', 'sent')
    AND (v.message_id IS NULL OR m.id = v.message_id)
    AND (a.state IN ('submitting', 'ambiguous', 'sent')
         OR (a.state = 'expired' AND a.error_class = 'patience'))
  ORDER BY (a.state = 'sent') DESC, (a.state <> 'expired') DESC, m.price, m.created_at LIMIT 1)
FROM unnest(%s::uuid[], %s::uuid[]) AS v(subject_id, message_id)
WHERE NOT EXISTS (SELECT 1 FROM channels_message d
                  WHERE d.subject_id = v.subject_id AND d.id BETWEEN :first_id AND :last_id
                    AND d.state = 'delivered')
"""

# A fragment of statements that change the messages of `changed`: marks the counts of earlier days
# stale, in the same commit.
INSERT_STALE_DAYS = """
INSERT INTO channels_staleday (company_id, mode, day)
SELECT DISTINCT company_id, mode, day FROM changed WHERE day < (now() AT TIME ZONE %(zone)s)::date
"""

# For messages and first attempts that are still as their claim wrote them, in its transaction
# `first_claim`: one round trip, one commit, and nothing to load or to decide. The message is locked
# before its attempt. Returns the attempts written; the others are read and decided about.
_ACCEPTANCES = json_rows(
    "acceptances",
    "message_id uuid, attempt_id uuid, first_claim xid, provider_id text, poll_in float",
)
ACCEPT_AS_CLAIMED = f"""
WITH unchanged AS (
  SELECT n.* FROM {_ACCEPTANCES} JOIN channels_message m ON m.id = n.message_id
  WHERE m.xmin = n.first_claim AND m.id BETWEEN :first_id AND :last_id
  ORDER BY m.id FOR UPDATE OF m),
accepted AS (
  UPDATE channels_attempt a SET state = 'sent', provider_id = n.provider_id, lease_until = NULL,
    accepted_at = now(), poll_at = now() + make_interval(secs => n.poll_in)
  FROM unchanged n
  WHERE a.id = n.attempt_id AND a.xmin = n.first_claim
    AND a.message_id BETWEEN :first_id AND :last_id
  RETURNING a.message_id, a.id),
changed AS (
  UPDATE channels_message m SET state = 'sent', sent_at = GREATEST(m.created_at, now())
  FROM accepted a WHERE m.id = a.message_id AND m.id BETWEEN :first_id AND :last_id
  RETURNING a.id, m.company_id, m.mode, (m.created_at AT TIME ZONE %(zone)s)::date AS day),
stale AS ({INSERT_STALE_DAYS})
SELECT id FROM changed
"""  # noqa: S608

_ATTEMPTS = json_rows(
    "attempts",
    "id uuid, state text, provider_id text, error_class text, error_code text, error_detail text,"
    " polls int, poll_in float",
)
UPDATE_ATTEMPTS = f"""
UPDATE channels_attempt a SET
  state = n.state, provider_id = COALESCE(a.provider_id, n.provider_id),
  error_class = COALESCE(n.error_class, a.error_class),
  error_code = COALESCE(n.error_code, a.error_code),
  error_detail = COALESCE(n.error_detail, a.error_detail),
  lease_until = NULL, polls = n.polls,
  accepted_at = CASE WHEN n.state IN ('sent', 'delivered')
                     THEN COALESCE(a.accepted_at, now()) ELSE a.accepted_at END,
  finished_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(a.finished_at, now()) END,
  poll_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired') THEN NULL
                 WHEN n.state = 'sent' AND n.poll_in IS NULL THEN a.poll_at
                 ELSE now() + make_interval(secs => n.poll_in) END
FROM {_ATTEMPTS}
WHERE a.id = n.id AND a.message_id BETWEEN :first_id AND :last_id
"""  # noqa: S608

# A provider id that we choose is the same for every attempt of a message. The latest attempt takes
# it over, since the vendor's receipts under that id refer to it.
TAKE_OVER_PROVIDER_IDS = """
UPDATE channels_attempt earlier SET provider_id = NULL
FROM unnest(%s::uuid[], %s::text[]) AS n(id, provider_id)
JOIN channels_attempt later ON later.id = n.id AND later.message_id BETWEEN :first_id AND :last_id
WHERE earlier.message_id = later.message_id AND earlier.message_id BETWEEN :first_id AND :last_id
  AND earlier.n < later.n
  AND earlier.provider = later.provider AND earlier.provider_id = n.provider_id
"""

# Vendors' clocks are wrong or have whole seconds: clamps each time between the one it follows and
# now.
_MESSAGES = json_rows(
    "messages",
    "id uuid, state text, error text, channel text, chain jsonb, hold int, due_in float,"
    " at timestamptz, read_at timestamptz, is_read bool, price int, is_owed bool,"
    " fallback_in float",
)
UPDATE_MESSAGES = f"""
WITH changed AS (
UPDATE channels_message m SET
  state = n.state, is_undelivered = n.state IN ('failed', 'expired'), error = n.error,
  channel = n.channel, chain = n.chain, hold = n.hold,
  price = n.price, is_owed = n.is_owed,
  fallback_at = CASE WHEN n.chain = '[]' OR n.state NOT IN ('queued', 'sent') THEN NULL
                     WHEN n.fallback_in IS NULL THEN m.fallback_at
                     ELSE now() + make_interval(secs => n.fallback_in) END,
  due_at = now() + make_interval(secs => n.due_in),
  sent_at = CASE WHEN n.state IN ('sent', 'delivered')
                 THEN COALESCE(m.sent_at, GREATEST(m.created_at, LEAST(n.at, now())))
                 ELSE m.sent_at END,
  delivered_at = CASE WHEN n.state = 'delivered'
                      THEN COALESCE(m.delivered_at,
                        GREATEST(m.created_at, m.sent_at, LEAST(n.at, now()))) END,
  read_at = CASE WHEN n.is_read
                 THEN COALESCE(m.read_at, GREATEST(m.created_at, m.sent_at, m.delivered_at,
                   LEAST(n.read_at, now())))
                 ELSE m.read_at END,
  finished_at = CASE WHEN n.state IN ('delivered', 'failed', 'expired')
                     THEN COALESCE(m.finished_at, now()) END
FROM {_MESSAGES}
WHERE m.id = n.id AND m.id BETWEEN :first_id AND :last_id
RETURNING m.company_id, m.mode, (m.created_at AT TIME ZONE %(zone)s)::date AS day)
{INSERT_STALE_DAYS}
"""  # noqa: S608

INSERT_FALLBACK_EVENTS = """
INSERT INTO channels_fallbackevent (message_id, reason, channel)
SELECT * FROM unnest(%s::uuid[], %s::text[], %s::text[])
"""

_SEGMENTED = ", ".join(f"'{channel.name}'" for channel in CHANNELS if channel.has_segments)

# The webhook event of a message's new state: the fields of GET /messages, without the code.
_MESSAGE_EVENTS = f"""
SELECT n.event_id AS id, m.company_id, m.mode, 'message.' || m.state AS kind,
  'msg_' || replace(m.id::text, '-', '') AS key, jsonb_build_object(
    'id', 'msg_' || replace(m.id::text, '-', ''), 'kind', m.kind, 'phone', m.phone,
    'channel', m.channel, 'status', m.state, 'error', NULLIF(m.error, ''), 'cost', m.price,
    'segments', CASE WHEN m.channel IN ({_SEGMENTED}) THEN m.segments END,
    'short_url', m.params->'short_url', 'test', m.mode = 'test', 'request_id', m.request_id,
    'created_at', {events.iso_sql("m.created_at")}, 'sent_at', {events.iso_sql("m.sent_at")},
    'delivered_at', {events.iso_sql("m.delivered_at")},
    'finished_at', {events.iso_sql("m.finished_at")}) AS data, now() AS at
FROM channels_message m JOIN unnest(%s::uuid[], %s::uuid[]) AS n(id, event_id) ON m.id = n.id
WHERE m.id BETWEEN :first_id AND :last_id"""  # noqa: S608
APPEND_MESSAGE_EVENTS = f"WITH {events.append_sql(_MESSAGE_EVENTS)}"
