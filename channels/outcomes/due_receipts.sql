-- `:first_id`, `:last_id`, `:start` and `:end`: the months to read, from
-- `storage/months/recent_ids.py`.

-- Due receipts, each with its attempt, and the part if the receipt is for a part. A receipt matches
-- only attempts of the provider that signed it. A receipt without phone and alternatives carries
-- exactly the id returned at acceptance.
--: due
SELECT receipt.id, receipt.state, receipt.provider, receipt.provider_id, receipt.error_code,
  receipt.error_detail, receipt.at,
  COALESCE(
    (SELECT ARRAY[attempt.message_id, attempt.id] FROM channels_attempt attempt
     WHERE attempt.id = receipt.ref AND attempt.provider = receipt.provider
       AND attempt.message_id BETWEEN :first_id AND :last_id),
    (SELECT ARRAY[attempt.message_id, attempt.id] FROM channels_attempt attempt
     WHERE attempt.provider = receipt.provider AND attempt.provider_id = receipt.provider_id
       AND receipt.phone = '' AND receipt.alternatives = '{}'
       AND attempt.message_id BETWEEN :first_id AND :last_id
     ORDER BY attempt.message_id DESC LIMIT 1),
    (SELECT ARRAY[attempt.message_id, attempt.id] FROM channels_attempt attempt
     WHERE attempt.id = COALESCE(by_spelling.attempt_id, part.attempt_id)
       AND attempt.message_id BETWEEN :first_id AND :last_id)) AS matched,
  receipt.received_at < now() - make_interval(secs => %(match_timeout)s) AS is_timed_out,
  COALESCE(by_spelling.part, part.id) AS part_id
FROM channels_receipt receipt
LEFT JOIN channels_part part
  ON part.provider = receipt.provider AND part.provider_id = receipt.provider_id
    AND receipt.phone = '' AND receipt.alternatives = '{}'
-- Among the spellings of the id: the one sent to the receipt's phone; else the id as given, unless
-- `needs_phone`; else any spelling if the receipt has no phone.
LEFT JOIN LATERAL (
  SELECT found.attempt_id, found.part FROM (
    SELECT attempt.id AS attempt_id, NULL::bigint AS part, attempt.provider_id
    FROM channels_attempt attempt
    WHERE attempt.provider = receipt.provider
      AND attempt.provider_id = ANY(receipt.provider_id || receipt.alternatives)
      AND attempt.message_id BETWEEN :first_id AND :last_id
    UNION ALL
    SELECT part.attempt_id, part.id, part.provider_id FROM channels_part part
    WHERE part.provider = receipt.provider
      AND part.provider_id = ANY(receipt.provider_id || receipt.alternatives)
  ) AS found JOIN channels_attempt attempt
    ON attempt.id = found.attempt_id AND attempt.message_id BETWEEN :first_id AND :last_id
  JOIN channels_message message ON message.id = attempt.message_id
    AND message.id BETWEEN :first_id AND :last_id
  -- Not as the join's condition, for which PostgreSQL would search for plain receipts as well.
  WHERE NOT (receipt.phone = '' AND receipt.alternatives = '{}') AND (message.phone = receipt.phone
    OR NOT receipt.needs_phone AND (found.provider_id = receipt.provider_id OR receipt.phone = ''))
  ORDER BY message.phone = receipt.phone DESC,
    array_position(receipt.provider_id || receipt.alternatives, found.provider_id) LIMIT 1
) AS by_spelling ON true
WHERE receipt.due_at <= now() AND receipt.received_at >= :start AND receipt.received_at < :end
  AND (%(only)s::bigint IS NULL OR receipt.id = %(only)s)
ORDER BY receipt.due_at LIMIT %(limit)s FOR UPDATE OF receipt SKIP LOCKED

-- Whether a receipt is due; a separate statement, because workers ask often and mostly none is.
--: has_due
SELECT EXISTS (SELECT FROM channels_receipt
               WHERE due_at <= now() AND received_at >= :start AND received_at < :end)

--: due_ids
SELECT id FROM channels_receipt
WHERE due_at <= now() AND received_at >= :start AND received_at < :end ORDER BY due_at LIMIT %s

--: mark_applied
UPDATE channels_receipt receipt SET due_at = NULL, applied_at = now(), attempt_id = given.attempt_id
FROM unnest(%s::bigint[], %s::uuid[]) AS given(id, attempt_id)
WHERE receipt.id = given.id AND receipt.received_at >= :start AND receipt.received_at < :end

-- Parks receipts. The delay grows with the receipt's age: receipts of messages sent by other
-- systems arrive in large numbers.
--: park
UPDATE channels_receipt
SET due_at = now() + GREATEST(make_interval(secs => %s), (now() - received_at) / 2)
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end

--: mark_unmatched
UPDATE channels_receipt SET due_at = NULL
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
