-- The first message of a live custom code, entered or not. Within the cool-down, and if the code
-- was entered, any message counts; later none that failed or expired, and none of a code that wrong
-- guesses used up. If the request `resends`, none counts later, none that failed or expired, and
-- none once the code was entered or used up; its reference does not matter. Messages by a requested
-- channel come first, failed and expired ones last.
--: repeated_message
SELECT m.id AS message_id, v.id AS verification_id, v.verified_at IS NOT NULL AS is_entered
FROM otp_verification v JOIN channels_message m ON m.subject_id = v.id
WHERE v.company_id = %(company_id)s AND v.mode = %(mode)s::text AND v.phone = %(phone)s::text
  AND v.purpose = %(purpose)s::text AND v.superseded_at IS NULL AND v.is_custom
  AND v.mac = ANY(%(macs)s::bytea[]) AND v.binding IS NOT DISTINCT FROM %(binding)s::jsonb
  AND v.expires_at > now()
  AND v.id BETWEEN :first_id AND :last_id AND m.id BETWEEN :first_id AND :last_id
  AND CASE WHEN %(resends)s THEN v.verified_at IS NULL AND v.attempts < v.max_attempts
        AND m.state NOT IN ('failed', 'expired')
      ELSE m.reference = %(reference)s::text END
  AND (m.state NOT IN ('failed', 'expired') AND NOT %(resends)s AND v.attempts < v.max_attempts
       OR v.verified_at IS NOT NULL
       OR m.created_at > now() - make_interval(secs => %(cool_down)s))
ORDER BY m.state IN ('failed', 'expired'), m.channel <> ALL(%(channels)s::text[]), m.id LIMIT 1

-- The company's newest message to a phone within a day, the longest cool-down.
--: newest_message
SELECT id FROM channels_message
WHERE company_id = %(company_id)s AND mode = %(mode)s::text AND phone = %(phone)s::text
  AND created_at > now() - interval '1 day' AND id BETWEEN :first_id AND :last_id
ORDER BY created_at DESC LIMIT 1
