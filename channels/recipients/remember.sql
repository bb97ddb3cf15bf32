-- A fragment of the statement that stores receipts: even a repeated receipt reveals who is behind
-- an id. At most one write a day per person, and none for an anonymised phone.
INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
SELECT vendor, user_id, attempt_id
FROM {recipients}
WHERE NOT EXISTS (SELECT FROM channels_knownrecipient seen
                  WHERE seen.vendor = given.vendor AND seen.user_id = given.user_id
                    AND seen.seen_at >= now() - interval '1 day')
  AND (SELECT message.phone
       FROM channels_attempt attempt JOIN channels_message message
         ON message.id = attempt.message_id
       WHERE attempt.id = given.attempt_id AND attempt.message_id BETWEEN :first_id AND :last_id
         AND message.id BETWEEN :first_id AND :last_id) NOT LIKE '%%*'
ON CONFLICT (vendor, user_id) DO UPDATE SET attempt_id = excluded.attempt_id, seen_at = now()
WHERE known.seen_at < now() - interval '1 day'
