-- Finds the message of a live custom code that the request repeats; `custom_code.py` says why.
-- A message with the same reference counts within the cool-down or once the code was entered;
-- later only if it did not fail or expire, and wrong guesses did not use up the code.
-- With `resends_custom_code` every reference counts, but only within the cool-down, only messages
-- that did not fail or expire, and only codes that can still be entered.
-- Messages that did not fail or expire come first; among them those by a requested channel.
--: repeated_message
SELECT message.id AS message_id, verification.id AS verification_id,
  verification.verified_at IS NOT NULL AS is_entered
FROM otp_verification verification JOIN channels_message message
  ON message.subject_id = verification.id
WHERE verification.company_id = %(company_id)s AND verification.mode = %(mode)s::text
  AND verification.phone = %(phone)s::text AND verification.purpose = %(purpose)s::text
  AND verification.superseded_at IS NULL AND verification.is_custom
  AND verification.mac = ANY(%(macs)s::bytea[])
  AND verification.binding IS NOT DISTINCT FROM %(binding)s::jsonb
  AND verification.expires_at > now()
  AND verification.id BETWEEN :first_id AND :last_id AND message.id BETWEEN :first_id AND :last_id
  AND CASE WHEN %(resends_custom_code)s THEN verification.verified_at IS NULL
        AND verification.attempts < verification.max_attempts
        AND message.state NOT IN ('failed', 'expired')
      ELSE message.reference = %(reference)s::text END
  AND (message.state NOT IN ('failed', 'expired') AND NOT %(resends_custom_code)s
         AND verification.attempts < verification.max_attempts
       OR verification.verified_at IS NOT NULL
       OR message.created_at > now() - make_interval(secs => %(cool_down)s))
ORDER BY message.state IN ('failed', 'expired'), message.channel <> ALL(%(channels)s::text[]),
  message.id LIMIT 1

-- The company's newest message to a phone within a day, the longest cool-down.
--: newest_message
SELECT id FROM channels_message
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND created_at > now() - interval '1 day' AND id BETWEEN :first_id AND :last_id
ORDER BY created_at DESC LIMIT 1
