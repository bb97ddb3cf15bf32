-- A part of the statements that accept sends; `paid` has a row for each message with its key.
--: insert_with_effect
INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
SELECT company_id, mode, idem_path, idem_key, idem_hash, message_id FROM paid

--: insert
INSERT INTO api_idempotentrequest (company_id, mode, path, key, request_hash, subject_id)
VALUES (%s, %s, %s, %s, %s, %s)

--: find
SELECT request_hash, status, body, subject_id,
  created_at < now() - interval '24 hours' AS is_expired
FROM api_idempotentrequest WHERE company_id = %s AND mode = %s AND path = %s AND key = %s

--: delete_expired
DELETE FROM api_idempotentrequest
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s
  AND created_at < now() - interval '24 hours'

--: forget
DELETE FROM api_idempotentrequest
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s AND subject_id = %s

--: store
UPDATE api_idempotentrequest SET status = COALESCE(status, %s), body = COALESCE(body, %s)
WHERE company_id = %s AND mode = %s AND path = %s AND key = %s RETURNING status, body
