-- An attempt whose response is outstanding counts from its start. An attempt that only exceeded its
-- timeout may have arrived; an attempt that a vendor rejected or gave up has not.
SELECT l.id AS link_id, (extract(epoch FROM a.started_at) * 1000)::bigint AS started,
  (extract(epoch FROM COALESCE(a.accepted_at, a.started_at)) * 1000)::bigint AS handed_over,
  a.state NOT IN ('failed', 'expired') OR (a.state = 'expired' AND a.error_class = 'patience')
    AS may_have_arrived
FROM links_link l JOIN channels_attempt a ON a.message_id = l.message_id
WHERE l.id = ANY(%s)
