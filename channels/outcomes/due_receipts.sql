-- `:first_id`, `:last_id`, `:start` and `:end`: the months to read, from
-- `storage/months/recent_ids.py`.

-- Due receipts, each with its attempt, and the part if the receipt is for a part. A receipt matches
-- only attempts of the provider that signed it. A receipt without phone and alternatives carries
-- exactly the id returned at acceptance.
--: due
SELECT r.id, r.state, r.provider, r.provider_id, r.error_code, r.error_detail, r.at,
  COALESCE(
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.id = r.ref AND a.provider = r.provider
       AND a.message_id BETWEEN :first_id AND :last_id),
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.provider = r.provider AND a.provider_id = r.provider_id
       AND r.phone = '' AND r.alternatives = '{}'
       AND a.message_id BETWEEN :first_id AND :last_id
     ORDER BY a.message_id DESC LIMIT 1),
    (SELECT ARRAY[a.message_id, a.id] FROM channels_attempt a
     WHERE a.id = COALESCE(by_spelling.attempt_id, part.attempt_id)
       AND a.message_id BETWEEN :first_id AND :last_id)) AS matched,
  r.received_at < now() - make_interval(secs => %(match_timeout)s) AS is_timed_out,
  COALESCE(by_spelling.part, part.id) AS part_id
FROM channels_receipt r
LEFT JOIN channels_part part
  ON part.provider = r.provider AND part.provider_id = r.provider_id
    AND r.phone = '' AND r.alternatives = '{}'
-- Among the spellings of the id: the one sent to the receipt's phone; else the id as given, unless
-- `needs_phone`; else any spelling if the receipt has no phone.
LEFT JOIN LATERAL (
  SELECT found.attempt_id, found.part FROM (
    SELECT a.id AS attempt_id, NULL::bigint AS part, a.provider_id FROM channels_attempt a
    WHERE a.provider = r.provider AND a.provider_id = ANY(r.provider_id || r.alternatives)
      AND a.message_id BETWEEN :first_id AND :last_id
    UNION ALL
    SELECT p.attempt_id, p.id, p.provider_id FROM channels_part p
    WHERE p.provider = r.provider AND p.provider_id = ANY(r.provider_id || r.alternatives)
  ) AS found JOIN channels_attempt a
    ON a.id = found.attempt_id AND a.message_id BETWEEN :first_id AND :last_id
  JOIN channels_message m ON m.id = a.message_id AND m.id BETWEEN :first_id AND :last_id
  -- Not as the join's condition, for which PostgreSQL would search for plain receipts as well.
  WHERE NOT (r.phone = '' AND r.alternatives = '{}') AND (m.phone = r.phone
    OR NOT r.needs_phone AND (found.provider_id = r.provider_id OR r.phone = ''))
  ORDER BY m.phone = r.phone DESC,
    array_position(r.provider_id || r.alternatives, found.provider_id) LIMIT 1
) AS by_spelling ON true
WHERE r.due_at <= now() AND r.received_at >= :start AND r.received_at < :end
  AND (%(only)s::bigint IS NULL OR r.id = %(only)s)
ORDER BY r.due_at LIMIT %(limit)s FOR UPDATE OF r SKIP LOCKED

-- A separate statement, because workers ask often and mostly nothing is due.
--: has_due
SELECT EXISTS (SELECT FROM channels_receipt
               WHERE due_at <= now() AND received_at >= :start AND received_at < :end)

--: due_ids
SELECT id FROM channels_receipt
WHERE due_at <= now() AND received_at >= :start AND received_at < :end ORDER BY due_at LIMIT %s

--: mark_applied
UPDATE channels_receipt r SET due_at = NULL, applied_at = now(), attempt_id = n.attempt_id
FROM unnest(%s::bigint[], %s::uuid[]) AS n(id, attempt_id)
WHERE r.id = n.id AND r.received_at >= :start AND r.received_at < :end

-- The delay grows with the receipt's age: receipts of messages sent by other systems arrive in
-- large numbers.
--: park
UPDATE channels_receipt
SET due_at = now() + GREATEST(make_interval(secs => %s), (now() - received_at) / 2)
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end

--: mark_unmatched
UPDATE channels_receipt SET due_at = NULL
WHERE id = ANY(%s) AND received_at >= :start AND received_at < :end
