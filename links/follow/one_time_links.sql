-- The condition that a one-time link can still be opened.
--: live
link.id = %s AND link.is_once AND link.used_at IS NULL AND link.disabled_at IS NULL
AND link.retired_at IS NULL
AND (link.expires_at IS NULL OR link.expires_at > now())
AND NOT EXISTS (SELECT FROM links_stop stop WHERE stop.company_id = link.company_id
  AND (stop.batch_id IS NULL OR stop.batch_id = link.batch_id))

-- Where a live one-time link leads, without opening it.
--: target
SELECT link.url FROM links_link link WHERE {live}

-- Opens a one-time link: only one of several concurrent visitors gets the target.
--: open
UPDATE links_link link SET used_at = now() WHERE {live}
RETURNING link.url, link.utm,
  (SELECT channel FROM channels_message message WHERE message.id = link.message_id) AS channel
