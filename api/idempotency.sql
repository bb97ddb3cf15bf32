-- A part of the statements that accept sends; `paid` has a row for each message with its key.
--: insert_with_effect
INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
SELECT company_id, mode, idem_path, idem_key, idem_hash, message_id FROM paid

-- Claims a key; a duplicate violates its unique constraint.
--: insert
INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
VALUES (%s, %s, %s, %s, %s, %s)

-- The first request with a key, and its stored response, if any.
--: find
SELECT request_hash, status, body, subject_id,
  created_at < now() - interval '24 hours' AS is_expired
FROM api_idempotentrequest WHERE company_id = %s AND mode = %s AND path = %s AND key = %s

-- Frees a key whose day is over.
--: delete_expired
DELETE FROM api_idempotentrequest
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s
  AND created_at < now() - interval '24 hours'

-- Frees a key if it still belongs to this subject.
--: forget
DELETE FROM api_idempotentrequest
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s AND subject_id = %s

-- Stores the first response; a later one changes nothing. Returns the stored one.
--: store
UPDATE api_idempotentrequest SET status = COALESCE(status, %s), body = COALESCE(body, %s)
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s RETURNING status, body
