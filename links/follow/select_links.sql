-- The links with one of two keys.
-- Retired rows never resolve. A slug in another case matches only aliases. A message is joined only
-- if its channel is part of the target. There are always two keys: PostgreSQL would plan an array
-- of unknown length each time.
SELECT link.key, link.is_alias, link.id, link.url, link.expires_at, link.disabled_at, link.used_at,
  link.company_id, link.batch_id, link.utm, link.expired_url, link.is_once, message.channel
FROM links_link link LEFT JOIN channels_message message
  ON message.id = link.message_id AND position('{channel}' IN link.utm) > 0
WHERE link.key IN (%s, %s) AND link.retired_at IS NULL
