-- The tokens spent in each hour, by company and the first seven characters of phones: enough to
-- tell apart countries that share a calling code. Code ids begin with their creation time, so the
-- range skips all other codes.
SELECT message.company_id, date_trunc('hour', message.created_at) AS hour,
  min(message.phone) AS phone, sum(message.price) AS tokens
FROM channels_message message LEFT JOIN otp_verification verification
  ON verification.id = message.subject_id AND verification.id >= %(first_id)s
    AND verification.id < %(last_id)s
WHERE message.created_at >= %(start)s AND message.created_at < %(end)s
  AND message.id >= %(first_id)s AND message.id < %(last_id)s
  AND message.mode = 'live' AND message.price > 0
  AND CASE WHEN message.kind = 'code' AND NOT COALESCE(verification.is_custom, false)
    THEN verification.verified_at IS NOT NULL ELSE message.state = 'delivered' END
GROUP BY message.company_id, date_trunc('hour', message.created_at), left(message.phone, 7)
