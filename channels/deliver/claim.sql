-- Claims due messages and writes their attempts in one commit. The queue lists candidates; the
-- locked message decides. One worker only claims it (SKIP LOCKED, due_at cleared). Skips messages
-- without a usable account or with too little useful time left. Returns everything needed to send.
--
-- Messages that no account of this process can carry now are skipped in the queue itself: reading
-- them and choosing an account takes ten times as long, and thousands may precede a code.
--
-- Chooses among accounts that may carry the message and have not reported this recipient
-- unreachable. Their order: those that have not failed the message; the longest matching phone
-- prefix; the operator's order; a draw by the weights and by whose codes are entered more often.
-- The draw depends on the message alone: processes that call different accounts must choose the
-- same one, or each would leave the message to the other.
--
-- has_other_account: another account is left if this one fails.
-- has_contact_account: another account has a contact of this recipient.
--
-- Placeholders: {counted} locks the accounts that a rate or a breaker limits; {picked} applies the
-- limits, both of `account_limits.sql`; {use}, {with_use} and {is_counted} refer to them.
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
due_message AS (
  SELECT m.id, queued.priority, queued.due_at, chosen.*
  FROM channels_openmessage queued JOIN channels_message m ON m.id = queued.message_id
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
          SELECT max(length(prefix)) FROM unnest(r.prefixes) AS prefix
          WHERE starts_with(m.phone, prefix)) END AS prefix
      OFFSET 0) fit
    WHERE r.mode = m.mode AND r.channel = m.channel AND r.content = m.content
      AND fit.prefix IS NOT NULL AND fit.rank < 2
      AND (NOT r.needs_contact OR r.is_sole OR %(assume_contact)s OR EXISTS (
        SELECT FROM channels_contact
        WHERE phone = m.phone AND provider = r.provider AND blocked_at IS NULL))
    ORDER BY fit.rank, fit.prefix DESC, r.position, -ln(((hashtextextended(r.provider,
        uuid_hash_extended(m.id, m.tries)) & 9007199254740991)::float8 + 0.5) / 9007199254740992)
      / r.weight
    LIMIT 1) chosen
  WHERE chosen.is_ours AND queued.due_at <= now() AND m.due_at <= now()
    AND queued.route_key = ANY(ARRAY(SELECT concat_ws(' ', mode, channel, content) FROM route
      WHERE is_ours))
    AND m.state IN ('queued', 'sent') AND m.id BETWEEN :first_id AND :last_id
    AND m.useful_until > now() + make_interval(secs => %(margin)s)
  ORDER BY queued.priority, queued.due_at LIMIT %(limit)s FOR UPDATE OF m SKIP LOCKED),
{picked}
claimed AS (
  UPDATE channels_message m SET due_at = NULL, tries = m.tries + 1
  FROM picked WHERE m.id = picked.id AND m.id BETWEEN :first_id AND :last_id
  RETURNING m.*, picked.provider, picked.needs_contact, picked.allowance, picked.trips,
    picked.has_other_account, picked.has_contact_account),
intent AS (
  INSERT INTO channels_attempt
    (id, message_id, n, hold, price, channel, provider, state, lease_until)
  SELECT gen_random_uuid(), id, tries, hold, price, channel, provider, 'submitting',
         now() + make_interval(secs => %(lease)s)
  FROM claimed RETURNING id, message_id)
SELECT intent.id AS attempt_id, claimed.id AS message_id, claimed.tries AS n, claimed.kind,
  claimed.content, claimed.phone, claimed.subject_id, claimed.params, claimed.locale, claimed.mode,
  claimed.provider,
  EXTRACT(epoch FROM claimed.useful_until - now())::int AS ttl,
  CASE WHEN contact.blocked_at IS NULL THEN contact.chat_id ELSE 0 END AS chat_id,
  claimed.allowance IS NOT NULL AS is_counted, claimed.trips, claimed.has_other_account,
  claimed.has_contact_account, claimed.channel, claimed.price,
  CASE WHEN claimed.tries = 1 AND NOT {has_subscribers} THEN pg_current_xact_id()::xid::text END
    AS claim_xid
FROM claimed JOIN intent ON intent.message_id = claimed.id
LEFT JOIN channels_contact contact
  ON claimed.needs_contact AND contact.phone = claimed.phone AND contact.provider = claimed.provider
