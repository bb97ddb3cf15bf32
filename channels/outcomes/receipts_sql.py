"""SQL of receipts, and of the parts of long SMS."""

from functools import cache

from billing.wallet import ledger
from channels import sql
from channels.recipients import vendor_user_ids
from storage.statements.json_rows import json_rows
from webhooks import events

# A receipt whose vendor writes the id as at acceptance.
_PLAIN = "{0}.phone = '' AND {0}.alternatives = '{{}}'"

# Due receipts, each with its matching attempt, and the part of it if the receipt is for a part. A
# receipt matches only attempts of the provider that signed it.
DUE_RECEIPTS = """
SELECT r.id, r.state, r.provider, r.provider_id, r.error_code, r.error_detail, r.at,
  COALESCE(
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.id = r.ref AND a.provider = r.provider
       AND a.message_id BETWEEN :first_id AND :last_id),
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.provider = r.provider AND a.provider_id = r.provider_id AND {plain}
       AND a.message_id BETWEEN :first_id AND :last_id
     ORDER BY a.message_id DESC LIMIT 1),
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.id = COALESCE(spelled.attempt_id, part.attempt_id)
       AND a.message_id BETWEEN :first_id AND :last_id)) AS matched,
  r.received_at < now() - make_interval(secs => %(patience)s) AS is_timed_out,
  COALESCE(spelled.part, part.id) AS part_id
FROM channels_receipt r
LEFT JOIN channels_part part
  ON part.provider = r.provider AND part.provider_id = r.provider_id AND {plain}
-- Of all spellings of the id, the one sent to the receipt's phone. Else the id as given, unless the
-- receipt needs its phone, or any spelling if the vendor gives no phone.
LEFT JOIN LATERAL (
  SELECT found.attempt_id, found.part FROM (
    SELECT a.id AS attempt_id, NULL::bigint AS part, a.provider_id FROM channels_attempt a
    WHERE a.provider = r.provider AND a.provider_id = ANY(r.provider_id || r.alternatives)
      AND a.message_id BETWEEN :first_id AND :last_id
    UNION ALL
    SELECT p.attempt_id, p.id, p.provider_id FROM channels_part p
    WHERE p.provider = r.provider AND p.provider_id = ANY(r.provider_id || r.alternatives)
  ) AS found JOIN channels_attempt a
    ON a.id = found.attempt_id AND a.message_id BETWEEN :first_id AND :last_id
  JOIN channels_message m ON m.id = a.message_id AND m.id BETWEEN :first_id AND :last_id
  WHERE m.phone = r.phone
    OR NOT r.needs_phone AND (found.provider_id = r.provider_id OR r.phone = '')
  ORDER BY m.phone = r.phone DESC,
    array_position(r.provider_id || r.alternatives, found.provider_id) LIMIT 1
) AS spelled ON NOT ({plain})
WHERE r.due_at <= now() AND r.received_at >= :start AND r.received_at < :end
  AND (%(only)s::bigint IS NULL OR r.id = %(only)s)
ORDER BY r.due_at LIMIT %(limit)s FOR UPDATE OF r SKIP LOCKED
""".format(plain=_PLAIN.format("r"))  # noqa: S608

# Applies the due receipts by which a sent message is delivered on its present channel, and charges
# for it, and those that repeat a known *sent*: in one round trip and one commit, as
# `channels.lifecycle` would decide. Leaves all others, deliveries of companies that get webhooks,
# and those whose message somebody has locked, so that it waits for none. The first row counts the
# receipts that it met and applied; there is one with NULLs when it delivered nothing.
DELIVER_UNCHANGED = """
WITH stored AS (
  SELECT r.id, r.state, r.provider, r.provider_id, r.error_code, r.ref, r.at, {plain} AS is_plain
  FROM channels_receipt r
  WHERE r.due_at <= now() AND r.received_at >= :start AND r.received_at < :end
  ORDER BY r.due_at LIMIT %(limit)s FOR UPDATE OF r SKIP LOCKED),
matched AS (
  SELECT s.id AS receipt_id, s.state AS said, s.provider, s.provider_id, s.at,
    a.message_id, a.id, a.hold, a.state
  FROM stored s CROSS JOIN LATERAL (
    SELECT message_id, id, hold, state FROM channels_attempt
    WHERE provider = s.provider AND provider_id = s.provider_id
      AND message_id BETWEEN :first_id AND :last_id
    ORDER BY message_id DESC LIMIT 1) AS a
  WHERE s.state IN ('sent', 'delivered') AND s.error_code = '' AND s.is_plain
    AND COALESCE(s.ref, a.id) = a.id
    AND NOT EXISTS (SELECT 1 FROM channels_part p
                    WHERE p.provider = s.provider AND p.provider_id = s.provider_id)),
known AS (
  SELECT n.receipt_id, n.id AS attempt_id FROM matched n JOIN channels_message m
    ON m.id = n.message_id AND m.id BETWEEN :first_id AND :last_id
  WHERE n.said = 'sent' AND n.state IN ('sent', 'delivered') AND m.state IN ('sent', 'delivered')),
deliveries AS (
  SELECT DISTINCT ON (message_id) * FROM matched n
  WHERE said = 'delivered' AND NOT EXISTS (  -- whatever came first counts
    SELECT 1 FROM stored o WHERE o.provider = n.provider AND o.provider_id = n.provider_id
      AND o.state NOT IN ('sent', 'delivered'))),
unchanged AS (
  SELECT n.* FROM deliveries n JOIN channels_message m ON m.id = n.message_id
  WHERE m.state = 'sent' AND m.hold = n.hold AND m.id BETWEEN :first_id AND :last_id
    AND NOT {has_subscribers}
  ORDER BY m.id FOR UPDATE OF m SKIP LOCKED),
delivered AS (
  UPDATE channels_attempt a SET state = 'delivered', lease_until = NULL, poll_at = NULL,
    accepted_at = COALESCE(a.accepted_at, now()), finished_at = COALESCE(a.finished_at, now())
  FROM unchanged n
  WHERE a.id = n.id AND a.state = 'sent' AND a.message_id BETWEEN :first_id AND :last_id
  RETURNING a.message_id, a.id, n.receipt_id, n.provider, n.at),
changed AS (
  UPDATE channels_message m SET state = 'delivered', is_undelivered = false, error = '',
    fallback_at = NULL, due_at = NULL,
    sent_at = COALESCE(m.sent_at, GREATEST(m.created_at, LEAST(d.at, now()))),
    delivered_at = COALESCE(m.delivered_at, GREATEST(m.created_at, m.sent_at, LEAST(d.at, now()))),
    finished_at = COALESCE(m.finished_at, now())
  FROM delivered d WHERE m.id = d.message_id AND m.id BETWEEN :first_id AND :last_id
  RETURNING d.receipt_id, d.provider, d.id AS attempt_id, m.id AS message_id, m.company_id, m.mode,
    m.channel, m.price, m.hold, (m.created_at AT TIME ZONE %(zone)s)::date AS day),
stale AS ({stale_days}),
applied AS (
  UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
  FROM (SELECT receipt_id, attempt_id FROM changed UNION ALL SELECT * FROM known) AS n
  WHERE r.id = n.receipt_id AND r.received_at >= :start AND r.received_at < :end
  RETURNING r.id),
{capture}
SELECT (SELECT count(*) FROM stored) AS due, (SELECT count(*) FROM applied) AS applied,
  message_id, attempt_id, mode, channel, price, provider
FROM (VALUES (1)) AS first LEFT JOIN changed ON true
""".format(  # noqa: S608
    plain=_PLAIN.format("r"),
    has_subscribers=events.has_endpoint_sql("m"),
    stale_days=sql.INSERT_STALE_DAYS,
    capture=ledger.capture_sql("""
    SELECT company_id, 'capture' AS kind, price AS amount, message_id, hold, 'receipt' AS proof,
      '' AS reason FROM changed WHERE price > 0"""),
)

# A separate statement, since workers ask often and mostly nothing is due.
HAS_DUE_RECEIPTS = """
SELECT EXISTS (SELECT 1 FROM channels_receipt
               WHERE due_at <= now() AND received_at >= :start AND received_at < :end)
"""

DUE_RECEIPT_IDS = """
SELECT id FROM channels_receipt
WHERE due_at <= now() AND received_at >= :start AND received_at < :end ORDER BY due_at LIMIT %s
"""

# Stores receipts, and who received the messages, in one commit; returns the digests of new ones.
_STORE = """
WITH stored AS (
  INSERT INTO channels_receipt
    (provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, word, error_code,
     error_detail, at, raw)
  SELECT provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, word,
    error_code, error_detail, at, raw
  FROM {receipts} WHERE {is_news}
  ON CONFLICT DO NOTHING RETURNING digest){recipients}
SELECT digest FROM stored
"""
_COLUMNS = """provider text, digest bytea, provider_id text, alternatives text[], phone text,
needs_phone bool, ref uuid, state text, word text, error_code text, error_detail text,
at timestamptz, raw bytea"""
# The vendor told us at the hand-over already, and that is written down: nothing would change.
_IS_NEWS = f"""NOT (state = 'sent' AND {_PLAIN.format("n")} AND EXISTS (
    SELECT 1 FROM channels_attempt a
    WHERE a.provider = n.provider AND a.provider_id = n.provider_id
      AND a.state NOT IN ('submitting', 'ambiguous')
      AND a.message_id BETWEEN :first_id AND :last_id))"""  # noqa: S608
_RECIPIENTS = f""",
recipients AS ({vendor_user_ids.REMEMBER})"""


@cache
def store(*, has_recipients: bool, skips_known: bool) -> str:
    """The statement with or without what these need."""
    return _STORE.format(
        receipts=json_rows("receipts", _COLUMNS),
        is_news=_IS_NEWS if skips_known else "true",
        recipients=_RECIPIENTS if has_recipients else "",
    )


STORE_PART = """
INSERT INTO channels_part (attempt_id, number, total, provider, provider_id)
SELECT a.id, %s, %s, a.provider, %s FROM channels_attempt a
WHERE a.id = %s AND a.provider = %s AND a.message_id BETWEEN :first_id AND :last_id
ON CONFLICT DO NOTHING
"""

# Under `LOCK_MESSAGES`, so that of two parts reported at once the second sees the first.
MARK_PARTS_DELIVERED = """
UPDATE channels_part SET delivered_at = COALESCE(delivered_at, now()) WHERE id = ANY(%s)
"""

# The given attempts whose parts are all delivered.
COMPLETE_ATTEMPTS = """
SELECT attempt_id FROM channels_part WHERE attempt_id = ANY(%s)
GROUP BY attempt_id HAVING count(delivered_at) = max(total)
"""

MARK_RECEIPTS_APPLIED = """
UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
FROM unnest(%s::bigint[], %s::uuid[]) AS n(id, attempt_id)
WHERE r.id = n.id AND r.received_at >= :start AND r.received_at < :end
"""

# The delay grows with the receipt's age: receipts of messages sent by others come in numbers.
PARK_RECEIPTS = """
UPDATE channels_receipt
SET due_at = now() + GREATEST(make_interval(secs => %s), (now() - received_at) / 2)
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""

MARK_RECEIPTS_UNMATCHED = """
UPDATE channels_receipt SET due_at = NULL
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
"""
