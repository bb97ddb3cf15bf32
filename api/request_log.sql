-- Writes the entries of the request log, which `requests` selects.
INSERT INTO api_apirequest (company_id, api_key_id, mode, request_id, created_at, method, path,
  status, code, fields, duration, phone, message_id)
SELECT company_id, api_key_id, mode, request_id, to_timestamp(created_at), method, path, status,
  code, ARRAY(SELECT json_array_elements_text(fields)), duration, phone, message_id
FROM {requests}
