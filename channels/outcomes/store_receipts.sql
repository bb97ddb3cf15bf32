-- Stores receipts in one commit; returns the digests of new ones. Unless {stores_known}, skips
-- `sent` receipts of attempts that are already marked sent. {recipients} stores who received the
-- messages, if the vendor reports it.
WITH stored AS (
  INSERT INTO channels_receipt
    (provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, word, error_code,
     error_detail, at, raw)
  SELECT provider, digest, provider_id, alternatives, phone, needs_phone, ref, state, word,
    error_code, error_detail, at, raw
  FROM (
    SELECT * FROM json_to_recordset(%(receipts)s::json) AS n(
      provider text, digest bytea, provider_id text, alternatives text[], phone text,
      needs_phone bool, ref uuid, state text, word text, error_code text, error_detail text,
      at timestamptz, raw bytea)
    LIMIT json_array_length(%(receipts)s::json)) AS n
  WHERE {stores_known} OR NOT (
    state = 'sent' AND n.phone = '' AND n.alternatives = '{}' AND EXISTS (
      SELECT FROM channels_attempt a
      WHERE a.provider = n.provider AND a.provider_id = n.provider_id
        AND a.state NOT IN ('submitting', 'ambiguous')
        AND a.message_id BETWEEN :first_id AND :last_id))
  ON CONFLICT DO NOTHING RETURNING digest){recipients}
SELECT digest FROM stored
