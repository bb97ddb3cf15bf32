-- The attempts of codes sent in a time.
-- Ids begin with the time, so the ranges of both tables are a few pages of their primary keys.
SELECT message.id, message.phone, EXTRACT(epoch FROM message.created_at)::float AS created,
  EXTRACT(epoch FROM verification.verified_at)::float AS verified,
  verification.verified_at IS NOT NULL AND EXISTS (SELECT FROM channels_message later
    WHERE later.subject_id = message.subject_id AND later.id > message.id
      AND later.created_at < verification.verified_at) AS is_sent_again,
  attempt.n, attempt.channel, attempt.provider, attempt.state, attempt.error_class,
  EXTRACT(epoch FROM attempt.started_at)::float AS started,
  EXTRACT(epoch FROM attempt.finished_at)::float AS finished
FROM channels_message message JOIN channels_attempt attempt ON attempt.message_id = message.id
    AND attempt.id >= %(first)s
  LEFT JOIN otp_verification verification ON verification.id = message.subject_id
    AND verification.id >= %(first_code)s AND verification.id < %(last)s
WHERE message.id >= %(first)s AND message.id < %(last)s AND message.kind = 'code' AND {of_any_code}
  AND message.mode = 'live' AND message.phone NOT LIKE '%%*' AND {is_outcome_known}
ORDER BY message.id, attempt.n
