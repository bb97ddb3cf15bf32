-- Queries over large tables for the operator's figures; the comments say what keeps them fast.

-- Sends by channel since a given time: a range of the primary key, which is ordered by time.
--: sends
SELECT channel, count(*) AS sends,
  count(*) FILTER (WHERE state = 'delivered') AS delivered,
  count(*) FILTER (WHERE state IN ('delivered', 'failed', 'expired')) AS final,
  percentile_cont(0.5) WITHIN GROUP (ORDER BY EXTRACT(epoch FROM finished_at - created_at))
    FILTER (WHERE state = 'delivered') AS median
FROM channels_message WHERE id >= %(since)s AND mode = 'live' GROUP BY channel ORDER BY channel

-- Reads only the open messages of large tables.
--: queue
SELECT
  (SELECT count(*) FROM channels_openmessage WHERE due_at <= now()) AS due,
  (SELECT EXTRACT(epoch FROM now() - min(due_at)) FROM channels_openmessage
   WHERE due_at <= now()) AS oldest_due,
  (SELECT count(*) FROM channels_openmessage WHERE due_at > now()) AS retrying,
  (SELECT count(*)
   FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
   WHERE message.state IN ('queued', 'sent')) AS open_messages,
  (SELECT COALESCE(sum(held), 0)::bigint FROM billing_wallet) AS held,
  (SELECT count(*) FROM channels_attempt
   WHERE lease_until IS NOT NULL AND state = 'submitting') AS leases,
  (SELECT count(*) FROM channels_attempt
   WHERE lease_until < now() AND state = 'submitting') AS overdue_leases,
  (SELECT count(*)
   FROM channels_openmessage queued JOIN channels_message message ON message.id = queued.message_id
   JOIN channels_attempt attempt ON attempt.message_id = queued.message_id
   WHERE message.state IN ('queued', 'sent') AND attempt.state = 'ambiguous') AS ambiguous,
  (SELECT count(*) FROM channels_receipt WHERE due_at IS NOT NULL) AS parked_receipts,
  (SELECT EXTRACT(epoch FROM now() - min(received_at)) FROM channels_receipt
   WHERE due_at IS NOT NULL) AS oldest_parked,
  (SELECT count(*) FROM webhooks_delivery WHERE due_at <= now()) AS webhooks,
  (SELECT EXTRACT(epoch FROM now() - min(due_at)) FROM webhooks_delivery
   WHERE due_at <= now()) AS oldest_webhook,
  (SELECT count(*) FROM accounts_mail WHERE due_at <= now()) AS emails,
  (SELECT EXTRACT(epoch FROM now() - min(due_at)) FROM accounts_mail
   WHERE due_at <= now()) AS oldest_email

--: heartbeats
SELECT kind, process, EXTRACT(epoch FROM clock_timestamp() - at)::float AS age, details
FROM channels_heartbeat ORDER BY kind, at DESC

-- The companies of one page: reads at most the newest 10,000 messages of a day for each.
--: companies
SELECT wanted.id, wallet.available, wallet.held, last.created_at AS last_send,
  day.sends, day.delivered, day.final, people.members
FROM unnest(%(ids)s::bigint[]) AS wanted(id)
LEFT JOIN billing_wallet wallet ON wallet.company_id = wanted.id
LEFT JOIN LATERAL (
  SELECT created_at FROM channels_message message
  WHERE message.company_id = wanted.id AND message.mode = 'live'
  ORDER BY created_at DESC, id DESC LIMIT 1) last ON true
LEFT JOIN LATERAL (
  SELECT count(*) AS sends, count(*) FILTER (WHERE state = 'delivered') AS delivered,
    count(*) FILTER (WHERE state IN ('delivered', 'failed', 'expired')) AS final
  FROM (SELECT state FROM channels_message message
        WHERE message.company_id = wanted.id AND message.mode = 'live'
          AND created_at > now() - interval '24 hours'
        ORDER BY created_at DESC, id DESC LIMIT %(limit)s) recent) day ON true
LEFT JOIN LATERAL (
  SELECT count(*) AS members FROM accounts_member member WHERE member.company_id = wanted.id
) AS people ON true

-- Attempts of the last hour and the last day, by the index on their start.
--: last_successes
SELECT account.name AS account,
  (SELECT max(last.at) FROM (
     SELECT accepted_at AS at FROM channels_attempt attempt
     WHERE attempt.provider = account.name AND attempt.accepted_at IS NOT NULL
       AND attempt.started_at > now() - interval '24 hours'
     ORDER BY attempt.started_at DESC LIMIT 1) last) AS last_success,
  (SELECT count(*) FROM channels_attempt attempt
   WHERE attempt.provider = account.name
     AND attempt.started_at > now() - interval '1 hour') AS last_hour
FROM unnest(%(names)s::text[]) AS account(name)

-- Calls of the last five minutes, and how many failed.
--: recent_calls
SELECT provider AS account, count(*) AS calls, count(*) FILTER (WHERE error_class <> '') AS failures
FROM channels_attempt
WHERE started_at > now() - interval '5 minutes' GROUP BY provider

-- Calls of the last ten minutes, and how many failed because of the account: a person without the
-- messenger is not the provider's failure.
--: call_failures
SELECT provider AS account, count(*) AS calls,
  count(*) FILTER (WHERE error_class IN ('refused', 'retry', 'ambiguous')) AS failures
FROM channels_attempt
WHERE started_at > now() - interval '10 minutes' AND provider = ANY(%(names)s) GROUP BY provider

-- The operator's settings and the breakers' current states.
--: accounts
SELECT name, id, is_enabled, position, weight, share_factor, prefixes, max_per_second, reason,
  opened_at, trips, pause_reason, is_paused_with_channel,
  CASE WHEN open_until IS NULL THEN 'closed' WHEN open_until <= now() THEN 'half-open'
       ELSE 'open' END AS breaker,
  GREATEST(0, EXTRACT(epoch FROM open_until - now()))::float AS opens_in
FROM channels_provideraccount

--: open_attempts
SELECT attempt.provider AS account, count(*) AS attempts FROM channels_openmessage queued
JOIN channels_attempt attempt ON attempt.message_id = queued.message_id
  AND attempt.id = queued.attempt_id
GROUP BY attempt.provider

--: errors
SELECT provider AS account, error_class, error_code, count(*) AS times FROM channels_attempt
WHERE started_at > now() - interval '1 hour' AND error_class <> ''
GROUP BY 1, 2, 3 ORDER BY 4 DESC, 1, 2, 3 LIMIT 100
