-- Stores an approval; `changed_at` moves only with the status.
INSERT INTO channels_vendorapproval AS stored
  (provider, kind, name, language, status, vendor_status, quality, reason, is_used)
VALUES (%s, %s, %s, %s, %s, %s, %s, %s, %s)
ON CONFLICT (provider, kind, name, language) DO UPDATE SET
  changed_at = CASE WHEN stored.status = excluded.status THEN stored.changed_at ELSE now() END,
  seen_at = now(), status = excluded.status, vendor_status = excluded.vendor_status,
  quality = excluded.quality, reason = excluded.reason, is_used = excluded.is_used
