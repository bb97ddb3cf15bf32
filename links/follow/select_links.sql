-- Retired rows never resolve. A slug in another case matches only aliases. A message is joined only
-- if its channel is part of the target. There are always two keys: PostgreSQL would plan an array
-- of unknown length each time.
SELECT l.key, l.is_alias, l.id, l.url, l.expires_at, l.disabled_at, l.used_at,
  l.company_id, l.batch_id, l.utm, l.expired_url, l.is_once, m.channel
FROM links_link l LEFT JOIN channels_message m
  ON m.id = l.message_id AND position('{channel}' IN l.utm) > 0
WHERE l.key IN (%s, %s) AND l.retired_at IS NULL
