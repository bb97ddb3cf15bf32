-- Frees the aliases of dead links: at once for the same company and mode, after 90 days for others,
-- because old messages still point at them. Aliases that the operator disabled or stopped with
-- their batch stay taken. Rows are locked in one order, since another request may want the same
-- aliases.
UPDATE links_link SET retired_at = now() WHERE id IN (
  SELECT id FROM links_link
  WHERE key = ANY(%(keys)s::text[]) AND is_alias AND retired_at IS NULL AND NOT is_barred
    AND (disabled_at IS NOT NULL OR used_at IS NOT NULL OR expires_at <= now())
    AND ((company_id = %(company_id)s AND mode = %(mode)s::text)
         OR GREATEST(disabled_at, used_at, expires_at) < now() - interval '90 days')
    AND NOT EXISTS (SELECT FROM links_stop stop WHERE stop.is_operators
                    AND stop.company_id = links_link.company_id
                    AND stop.batch_id = links_link.batch_id)
  ORDER BY id FOR UPDATE)
