-- The codes whose first message was sent within the period, with their arm and the tokens charged
-- for all their messages.
SELECT message.company_id, message.phone, message.params->'route'->>'arm' AS arm,
  EXTRACT(epoch FROM message.created_at)::float AS created,
  EXTRACT(epoch FROM verification.verified_at)::float AS verified,
  (SELECT COALESCE(sum(transfer.amount), 0) FROM channels_message own
     JOIN billing_transfer transfer ON transfer.message_id = own.id AND transfer.kind = 'capture'
   WHERE own.subject_id = message.subject_id)::bigint AS tokens
FROM channels_message message LEFT JOIN otp_verification verification
  ON verification.id = message.subject_id
  AND verification.id >= %(first_code)s AND verification.id < %(last)s
WHERE message.id >= %(first)s AND message.id < %(last)s AND message.kind = 'code'
  AND message.mode = 'live'
  AND message.params->'route'->>'arm' = ANY(%(arms)s)
  AND NOT EXISTS (SELECT FROM channels_message earlier
    WHERE earlier.subject_id = message.subject_id AND earlier.id < message.id)
