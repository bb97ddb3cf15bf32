-- The attempt that a used code or link proves delivered, among the subject's open messages, or of
-- the clicked message only. The first of these, and the cheapest of its kind:
-- 1. accepted by a vendor;
-- 2. being submitted: its receipt would be charged as well;
-- 3. ambiguous;
-- 4. ended when patience ran out, which is free.
-- None if a message of the subject is delivered already. Read under the messages' locks, so that a
-- receipt just applied is seen.
SELECT (
  SELECT attempt.id
  FROM channels_message message JOIN channels_attempt attempt ON attempt.message_id = message.id
  WHERE message.subject_id = used.subject_id AND message.id BETWEEN :first_id AND :last_id
    AND attempt.message_id BETWEEN :first_id AND :last_id AND message.state IN ('queued', 'sent')
    AND (used.message_id IS NULL OR message.id = used.message_id)
    AND (attempt.state IN ('submitting', 'ambiguous', 'sent')
         OR (attempt.state = 'expired' AND attempt.error_class = 'patience'))
  ORDER BY array_position(ARRAY['sent', 'submitting', 'ambiguous', 'expired'], attempt.state::text),
    message.price, message.created_at LIMIT 1)
FROM unnest(%s::uuid[], %s::uuid[]) AS used(subject_id, message_id)
WHERE NOT EXISTS (SELECT FROM channels_message delivered
                  WHERE delivered.subject_id = used.subject_id
                    AND delivered.id BETWEEN :first_id AND :last_id
                    AND delivered.state = 'delivered')
