--: live
l.id = %s AND l.is_once AND l.used_at IS NULL AND l.disabled_at IS NULL AND l.retired_at IS NULL
AND (l.expires_at IS NULL OR l.expires_at > now())
AND NOT EXISTS (SELECT FROM links_stop s WHERE s.company_id = l.company_id
  AND (s.batch_id IS NULL OR s.batch_id = l.batch_id))

--: target
SELECT l.url FROM links_link l WHERE {live}

-- Only one of several concurrent visitors gets the target.
--: open
UPDATE links_link l SET used_at = now() WHERE {live}
RETURNING l.url, l.utm,
  (SELECT channel FROM channels_message m WHERE m.id = l.message_id) AS channel
