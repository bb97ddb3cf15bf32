--: is_live
(l.disabled_at IS NULL AND (l.expires_at IS NULL OR l.expires_at > now())
 AND NOT EXISTS (SELECT FROM links_stop s
                 WHERE s.company_id = l.company_id AND s.batch_id = l.batch_id))

-- IS NOT NULL is redundant, but the planner needs it to use the partial index.
--: equal
l.company_id = %(company_id)s AND l.mode = %(mode)s::text
AND l.reuse_key = ANY(%(link_reuse_key)s::uuid[]) AND l.reuse_key IS NOT NULL

-- Finds live links, clears the keys of dead ones, locked in one order, and makes new links for the
-- remaining requests. The unique index decides between concurrent requests; ON CONFLICT returns the
-- earlier row to the later request, whose snapshot does not show it.
--: find_or_create
WITH existing AS (
  SELECT l.reuse_key, l.id, l.slug, l.key, l.expires_at
  FROM links_link l WHERE {equal} AND {is_live}),
dead AS (
  UPDATE links_link SET reuse_key = NULL WHERE id IN (
    SELECT l.id FROM links_link l WHERE {equal} AND NOT {is_live} ORDER BY l.id FOR UPDATE)
  RETURNING id),
new_link AS ({insert},
    (SELECT count(*) FROM dead) AS first_step  -- read, so that it runs first
  WHERE NOT EXISTS (SELECT FROM existing WHERE existing.reuse_key = n.reuse_key)
  ORDER BY n.reuse_key
  ON CONFLICT (company_id, mode, reuse_key) WHERE reuse_key IS NOT NULL
    DO UPDATE SET reuse_key = EXCLUDED.reuse_key
  RETURNING reuse_key, id, slug, key, expires_at)
SELECT * FROM existing UNION ALL SELECT * FROM new_link
