-- The live code for a phone and a purpose, if it has the requested properties and enough time left,
-- as in `send.sql`.
--: live_verification
SELECT id FROM otp_verification
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND purpose = %(purpose)s::text AND superseded_at IS NULL AND verified_at IS NULL
  AND attempts < max_attempts AND id BETWEEN :first_id AND :last_id
  AND expires_at >= now() + LEAST(make_interval(secs => %(resend_margin)s),
                                  (expires_at - created_at) / 2)
  AND length = COALESCE(%(requested_length)s::int, length)
  AND binding IS NOT DISTINCT FROM %(binding)s::jsonb
  AND CASE WHEN is_custom THEN mac = ANY(%(custom_macs)s::bytea[])
      ELSE %(custom_macs)s::bytea[] IS NULL END
ORDER BY id DESC LIMIT 1

-- Locks that verification until the end of the transaction.
--: lock_live_verification
{live_verification} FOR NO KEY UPDATE

-- The channels by which a verification's messages were sent or tried.
--: tried_channels
SELECT DISTINCT unnest(ARRAY[message.channel, attempt.channel]) FROM channels_message message
LEFT JOIN channels_attempt attempt
  ON attempt.message_id = message.id AND attempt.message_id BETWEEN :first_id AND :last_id
WHERE message.subject_id = %s AND message.id BETWEEN :first_id AND :last_id
