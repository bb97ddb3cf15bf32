-- A fragment of the statement that stores receipts: even a repeated receipt reveals who is behind
-- an id. At most one write a day per person, and none for an anonymised phone.
INSERT INTO channels_knownrecipient AS known (vendor, user_id, attempt_id)
SELECT vendor, user_id, attempt_id
FROM {recipients}
WHERE NOT EXISTS (SELECT FROM channels_knownrecipient seen
                  WHERE seen.vendor = n.vendor AND seen.user_id = n.user_id
                    AND seen.seen_at >= now() - interval '1 day')
  AND (SELECT m.phone FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
       WHERE a.id = n.attempt_id AND a.message_id BETWEEN :first_id AND :last_id
         AND m.id BETWEEN :first_id AND :last_id) NOT LIKE '%%*'
ON CONFLICT (vendor, user_id) DO UPDATE SET attempt_id = excluded.attempt_id, seen_at = now()
WHERE known.seen_at < now() - interval '1 day'
