-- Frees the aliases of dead links: at once for the same company and mode, after 90 days for others,
-- because old messages still point at them. For its company a link is also dead if its message
-- failed: nobody has it, and it is sent again by another channel. Aliases that the operator
-- disabled or stopped with their batch stay taken. Rows are locked in one order, since another
-- request may want the same aliases.
UPDATE links_link SET retired_at = now(),
  disabled_at = CASE WHEN used_at IS NOT NULL OR expires_at <= now() THEN disabled_at
                     ELSE COALESCE(disabled_at, now()) END
WHERE id IN (
  SELECT id FROM links_link
  WHERE key = ANY(%(keys)s::text[]) AND is_alias AND retired_at IS NULL AND NOT is_barred
    AND (disabled_at IS NOT NULL OR used_at IS NOT NULL OR expires_at <= now() OR EXISTS (
      SELECT FROM channels_message message
      WHERE message.subject_id = links_link.id AND message.id BETWEEN :first_id AND :last_id
        AND message.kind = 'link' AND message.state = 'failed'))
    AND ((company_id = %(company_id)s AND mode = %(mode)s::text)
         OR GREATEST(disabled_at, used_at, expires_at) < now() - interval '90 days')
    AND NOT EXISTS (SELECT FROM links_stop stop WHERE stop.is_operators
                    AND stop.company_id = links_link.company_id
                    AND stop.batch_id = links_link.batch_id)
  ORDER BY id FOR UPDATE)
