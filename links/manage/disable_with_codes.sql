-- Disables links whose lifetime is tied to these ended codes. Lock order: links by id, then
-- messages.
UPDATE links_link SET disabled_at = now() WHERE id IN (
  SELECT l.id FROM channels_message m JOIN links_link l ON l.id = (m.params ->> 'link')::uuid
  WHERE m.subject_id = ANY(%s::uuid[]) AND m.id BETWEEN :first_id AND :last_id AND m.kind = 'code'
    AND l.dies_with_code AND l.disabled_at IS NULL
  ORDER BY l.id FOR UPDATE OF l)
RETURNING id, key
