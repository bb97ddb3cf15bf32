-- Ids begin with the time, so the ranges of both tables are a few pages of their primary keys.
SELECT m.id, m.phone, EXTRACT(epoch FROM m.created_at)::float AS created,
  EXTRACT(epoch FROM v.verified_at)::float AS verified,
  v.verified_at IS NOT NULL AND EXISTS (SELECT FROM channels_message later
    WHERE later.subject_id = m.subject_id AND later.id > m.id
      AND later.created_at < v.verified_at) AS is_sent_again,
  a.n, a.channel, a.provider, a.state, a.error_class,
  EXTRACT(epoch FROM a.started_at)::float AS started,
  EXTRACT(epoch FROM a.finished_at)::float AS finished
FROM channels_message m JOIN channels_attempt a ON a.message_id = m.id
    AND a.id >= %(first)s
  LEFT JOIN otp_verification v ON v.id = m.subject_id
    AND v.id >= %(first_code)s AND v.id < %(last)s
WHERE m.id >= %(first)s AND m.id < %(last)s AND m.kind = 'code' AND {of_any_code}
  AND m.mode = 'live' AND m.phone NOT LIKE '%%*' AND {is_outcome_known}
ORDER BY m.id, a.n
