-- A contact shared again after the call began stays.
UPDATE channels_contact c SET blocked_at = date_trunc('second', a.started_at)
FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
WHERE a.id = ANY(%s) AND c.provider = a.provider AND c.phone = m.phone
  AND c.blocked_at IS NULL AND c.shared_at < a.started_at
