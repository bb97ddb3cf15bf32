-- Disables links whose lifetime is tied to these ended codes. Lock order: links by id, then
-- messages.
UPDATE links_link SET disabled_at = now() WHERE id IN (
  SELECT link.id
  FROM channels_message message JOIN links_link link ON link.id = (message.params ->> 'link')::uuid
  WHERE message.subject_id = ANY(%s::uuid[]) AND message.id BETWEEN :first_id AND :last_id
    AND message.kind = 'code'
    AND link.dies_with_code AND link.disabled_at IS NULL
  ORDER BY link.id FOR UPDATE OF link)
RETURNING id, key
