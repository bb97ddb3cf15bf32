-- When a link ends that is made now.
--: expires_at
now() + make_interval(secs => %(link_lifetime)s::float)

-- Fragments of the statement that accepts a send with a link; in the second one the link dies with
-- the code that it goes out with.
--: insert
INSERT INTO links_link (company_id, mode, message_id, expires_at, {columns})
SELECT company_id, mode, message_id, {expires_at}, {values} FROM paid

-- The link ends with the code at the latest.
--: insert_with_code
INSERT INTO links_link (company_id, mode, message_id, expires_at, {columns})
SELECT company_id, mode, message_id, LEAST({expires_at}, ends_at), {values} FROM paid

-- A link without a message costs nothing.
--: shorten
WITH paid AS (
  SELECT %(company_id)s::bigint AS company_id, %(mode)s::text AS mode, NULL::uuid AS message_id)
{insert} RETURNING expires_at

-- A fragment; the given links keep their order as `position`.
--: insert_from_arrays
INSERT INTO links_link (company_id, mode, expires_at, {columns})
SELECT %(company_id)s, %(mode)s::text, now() + make_interval(secs => given.lifetime),
  {array_columns}
FROM unnest({arrays}, %(link_lifetime)s::float[])
  WITH ORDINALITY AS given({columns}, lifetime, position)

-- Ordered by key to lock in one order, and so that the first of two equal aliases in a batch wins.
--: insert_many
{insert_from_arrays}
ORDER BY given.key, given.position ON CONFLICT DO NOTHING RETURNING id, expires_at

-- Which of the keys are taken by live links with generated slugs.
--: generated
SELECT key FROM links_link WHERE key = ANY(%(keys)s::text[]) AND retired_at IS NULL AND NOT is_alias
