-- The attempt that a used code or link proves delivered, among the subject's open messages, or of
-- the clicked message only. The first of these, and the cheapest of its kind:
-- 1. accepted by a vendor;
-- 2. being submitted: its receipt would be charged as well;
-- 3. ambiguous;
-- 4. ended when patience ran out, which is free.
-- None if a message of the subject is delivered already. Read under the messages' locks, so that a
-- receipt just applied is seen.
SELECT (
  SELECT a.id FROM channels_message m JOIN channels_attempt a ON a.message_id = m.id
  WHERE m.subject_id = v.subject_id AND m.id BETWEEN :first_id AND :last_id
    AND a.message_id BETWEEN :first_id AND :last_id AND m.state IN ('queued', 'sent')
    AND (v.message_id IS NULL OR m.id = v.message_id)
    AND (a.state IN ('submitting', 'ambiguous', 'sent')
         OR (a.state = 'expired' AND a.error_class = 'patience'))
  ORDER BY array_position(ARRAY['sent', 'submitting', 'ambiguous', 'expired'], a.state::text),
    m.price, m.created_at LIMIT 1)
FROM unnest(%s::uuid[], %s::uuid[]) AS v(subject_id, message_id)
WHERE NOT EXISTS (SELECT FROM channels_message d
                  WHERE d.subject_id = v.subject_id AND d.id BETWEEN :first_id AND :last_id
                    AND d.state = 'delivered')
