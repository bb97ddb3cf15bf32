SELECT m.company_id, m.phone, m.params->'route'->>'arm' AS arm,
  EXTRACT(epoch FROM m.created_at)::float AS created,
  EXTRACT(epoch FROM v.verified_at)::float AS verified,
  (SELECT COALESCE(sum(t.amount), 0) FROM channels_message own
     JOIN billing_transfer t ON t.message_id = own.id AND t.kind = 'capture'
   WHERE own.subject_id = m.subject_id)::bigint AS tokens
FROM channels_message m LEFT JOIN otp_verification v ON v.id = m.subject_id
  AND v.id >= %(first_code)s AND v.id < %(last)s
WHERE m.id >= %(first)s AND m.id < %(last)s AND m.kind = 'code' AND m.mode = 'live'
  AND m.phone NOT LIKE '%%*' AND m.params->'route'->>'arm' = ANY(%(arms)s)
  AND NOT EXISTS (SELECT FROM channels_message earlier
    WHERE earlier.subject_id = m.subject_id AND earlier.id < m.id)
