-- Claims due messages and writes their attempts in one commit. The queue lists candidates; the
-- locked message decides. One worker only claims it (SKIP LOCKED, due_at cleared). Skips messages
-- without a usable account or with too little useful time left. Returns everything needed to send.
--
-- Messages that no account of this process can carry now are skipped in the queue itself: reading
-- them and choosing an account takes ten times as long, and thousands may precede a code.
--
-- Chooses among accounts that may carry the message and have not reported this recipient
-- unreachable. Their order: those that have not failed the message; the longest matching phone
-- prefix; the operator's order; a weighted draw (Efraimidis and Spirakis: the smallest
-- −ln(u)/weight) by the weights and by whose codes are entered more often. The draw depends on the
-- message alone: processes that call different accounts must choose the same one, or each would
-- leave the message to the other.
--
-- has_other_account: another account is left if this one fails.
-- has_contact_account: another account has a contact of this recipient.
--
-- Placeholders: {counted} locks the accounts that a rate or a breaker limits; {picked} applies the
-- limits, both of `account_limits.sql`; {use}, {with_use} and {is_counted} refer to them.
WITH {counted}
route AS MATERIALIZED (
  SELECT given.mode, given.channel, given.content, given.provider, given.needs_contact,
    given.is_sole, given.is_ours, COALESCE(account.position, given.position) AS position,
    COALESCE(account.weight * account.share_factor, 1) AS weight, account.prefixes, {use}
  FROM json_to_recordset(%(routes)s::json) AS given(mode text, channel text, content text,
      provider text, needs_contact bool, is_sole bool, is_ours bool, position int)
    LEFT JOIN channels_provideraccount account ON account.name = given.provider {with_use}
  WHERE account.id IS NULL OR {is_counted}
    OR (account.is_enabled AND account.open_until IS NULL AND account.max_per_second IS NULL)),
due_message AS (
  SELECT message.id, queued.priority, queued.due_at, chosen.*
  FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
  CROSS JOIN LATERAL (
    SELECT route.provider, route.needs_contact, route.allowance, route.trips, route.is_ours,
      count(*) FILTER (WHERE fit.rank = 0) OVER () > 1 AS has_other_account,
      count(*) FILTER (WHERE route.needs_contact AND fit.rank = 0) OVER ()
        > route.needs_contact::int AS has_contact_account
    FROM route CROSS JOIN LATERAL (
      SELECT COALESCE((
          SELECT max(1 + (error_class IN ('unreachable', 'barred'))::int) FROM channels_attempt
          WHERE message.tries > 0 AND message_id = message.id AND provider = route.provider
            AND message_id BETWEEN :first_id AND :last_id), 0) AS rank,
        CASE WHEN COALESCE(cardinality(route.prefixes), 0) = 0 THEN 0 ELSE (
          SELECT max(length(prefix)) FROM unnest(route.prefixes) AS prefix
          WHERE starts_with(message.phone, prefix)) END AS prefix
      OFFSET 0) fit
    WHERE route.mode = message.mode AND route.channel = message.channel
      AND route.content = message.content
      AND fit.prefix IS NOT NULL AND fit.rank < 2
      AND (NOT route.needs_contact OR route.is_sole OR %(assume_contact)s OR EXISTS (
        SELECT FROM channels_contact
        WHERE phone = message.phone AND provider = route.provider AND blocked_at IS NULL))
    ORDER BY fit.rank, fit.prefix DESC, route.position,
      -- A weighted draw by 53 bits of the hash, as a number within (0, 1).
      -ln(((hashtextextended(route.provider, uuid_hash_extended(message.id, message.tries))
        & 9007199254740991)::float8 + 0.5) / 9007199254740992) / route.weight
    LIMIT 1) chosen
  WHERE chosen.is_ours AND queued.due_at <= now() AND message.due_at <= now()
    AND queued.route_key = ANY(ARRAY(SELECT concat_ws(' ', mode, channel, content) FROM route
      WHERE is_ours))
    AND message.state IN ('queued', 'sent') AND message.id BETWEEN :first_id AND :last_id
    AND message.useful_until > now() + make_interval(secs => %(margin)s)
  ORDER BY queued.priority, queued.due_at LIMIT %(limit)s FOR UPDATE OF message SKIP LOCKED),
{picked}
claimed AS (
  UPDATE channels_message message SET due_at = NULL, tries = message.tries + 1
  FROM picked WHERE message.id = picked.id AND message.id BETWEEN :first_id AND :last_id
  RETURNING message.*, picked.provider, picked.needs_contact, picked.allowance, picked.trips,
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
