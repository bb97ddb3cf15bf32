-- The condition that a link can still be opened.
--: is_live
(link.disabled_at IS NULL AND (link.expires_at IS NULL OR link.expires_at > now())
 AND NOT EXISTS (SELECT FROM links_stop stop
                 WHERE stop.company_id = link.company_id AND stop.batch_id = link.batch_id))

-- The condition that a link equals a requested one. IS NOT NULL is redundant, but the planner needs
-- it to use the partial index.
--: equal
link.company_id = %(company_id)s AND link.mode = %(mode)s::text
AND link.reuse_key = ANY(%(link_reuse_key)s::uuid[]) AND link.reuse_key IS NOT NULL

-- Finds live links, clears the keys of dead ones, locked in one order, and makes new links for the
-- remaining requests. The unique index decides between concurrent requests; ON CONFLICT returns the
-- earlier row to the later request, whose snapshot does not show it.
--: find_or_create
WITH existing AS (
  SELECT link.reuse_key, link.id, link.slug, link.key, link.expires_at
  FROM links_link link WHERE {equal} AND {is_live}),
dead AS (
  UPDATE links_link SET reuse_key = NULL WHERE id IN (
    SELECT link.id FROM links_link link WHERE {equal} AND NOT {is_live} ORDER BY link.id FOR UPDATE)
  RETURNING id),
new_link AS ({insert},
    (SELECT count(*) FROM dead) AS first_step  -- read, so that it runs first
  WHERE NOT EXISTS (SELECT FROM existing WHERE existing.reuse_key = given.reuse_key)
  ORDER BY given.reuse_key
  ON CONFLICT (company_id, mode, reuse_key) WHERE reuse_key IS NOT NULL
    DO UPDATE SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT * FROM existing UNION ALL SELECT * FROM new_link
