-- Blocks the contacts of refused attempts, except those shared again after the call began.
UPDATE channels_contact contact SET blocked_at = date_trunc('second', attempt.started_at)
FROM channels_attempt attempt JOIN channels_message message ON message.id = attempt.message_id
WHERE attempt.id = ANY(%s) AND contact.provider = attempt.provider AND contact.phone = message.phone
  AND contact.blocked_at IS NULL AND contact.shared_at < attempt.started_at
