-- Groups phones by their first seven characters, enough to tell apart countries that share a
-- calling code. Code ids begin with their creation time, so the range skips all other codes.
SELECT m.company_id, date_trunc('hour', m.created_at) AS hour, min(m.phone) AS phone,
  sum(m.price) AS tokens
FROM channels_message m LEFT JOIN otp_verification v
  ON v.id = m.subject_id AND v.id >= %(first_id)s AND v.id < %(last_id)s
WHERE m.created_at >= %(start)s AND m.created_at < %(end)s AND m.phone NOT LIKE '%%*'
  AND m.mode = 'live' AND m.price > 0
  AND CASE WHEN m.kind = 'code' AND NOT COALESCE(v.is_custom, false)
    THEN v.verified_at IS NOT NULL ELSE m.state = 'delivered' END
GROUP BY m.company_id, date_trunc('hour', m.created_at), left(m.phone, 7)
