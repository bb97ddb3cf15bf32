-- The attempts of the messages with these links, and whether each may have arrived.
-- An attempt whose response is outstanding counts from its start. An attempt that only exceeded its
-- timeout may have arrived; an attempt that a vendor rejected or gave up has not.
SELECT link.id AS link_id, (extract(epoch FROM attempt.started_at) * 1000)::bigint AS started,
  (extract(epoch FROM COALESCE(attempt.accepted_at, attempt.started_at)) * 1000)::bigint
    AS handed_over,
  attempt.state NOT IN ('failed', 'expired')
    OR (attempt.state = 'expired' AND attempt.error_class = 'patience')
    AS may_have_arrived
FROM links_link link JOIN channels_attempt attempt ON attempt.message_id = link.message_id
WHERE link.id = ANY(%s)
