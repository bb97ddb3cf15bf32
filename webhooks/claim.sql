-- Claims due deliveries, for the companies with the fewest calls in flight first. Each endpoint and
-- each company has a limit of concurrent calls; a failing endpoint gets one call at a time. All
-- slow companies share one limit. Only claimed rows are locked. Rows that another worker has locked
-- are skipped, so more candidates are read than needed. A claim lasts for the lease; after a crash
-- the delivery becomes due again.
--
-- position: the delivery's position among its company's calls: those in flight come first, then by
-- priority.
-- slow_rank: the company's position in the list of slow companies, or 0.
-- position_among_slow: the delivery's position among those of all slow companies; unused for the
-- others.
WITH busy AS (
  SELECT * FROM unnest(%(deliveries)s::uuid[], %(endpoints)s::uuid[], %(companies)s::bigint[])
    AS b(delivery, endpoint, company)),
waiting AS (
  SELECT d.id, d.priority, d.due_at, e.company_id FROM {callable_endpoints}
  CROSS JOIN LATERAL (
    SELECT next.id, p.priority, next.due_at FROM {priorities}
    CROSS JOIN LATERAL (
      SELECT id, due_at FROM webhooks_delivery d
      WHERE endpoint_id = e.id AND priority = p.priority AND due_at <= statement_timestamp()
        AND id <> ALL(%(deliveries)s::uuid[]) AND {is_on_own_host}
      ORDER BY due_at LIMIT %(endpoint_limit)s) next
    ORDER BY p.priority, next.due_at
    LIMIT GREATEST(0, CASE WHEN e.failing_since IS NULL THEN %(endpoint_limit)s ELSE 1 END
      - (SELECT count(*) FROM busy WHERE endpoint = e.id))) d),
positioned AS (
  SELECT id, due_at, row_number() OVER (PARTITION BY company_id ORDER BY priority, due_at)
    + (SELECT count(*) FROM busy WHERE company = company_id) AS position,
    COALESCE(array_position(%(slow)s::bigint[], company_id), 0) AS slow_rank
  FROM waiting),
ranked AS (
  SELECT id, due_at, position, slow_rank,
    row_number() OVER (
      PARTITION BY slow_rank > 0 ORDER BY position, slow_rank, due_at) AS position_among_slow
  FROM positioned WHERE position <= %(company_limit)s),
picked AS (
  SELECT id, due_at, position, slow_rank FROM ranked
  WHERE slow_rank = 0 OR position_among_slow <= %(slow_limit)s
  ORDER BY position, slow_rank, due_at LIMIT 8 * %(limit)s),
taken AS (
  SELECT d.id FROM picked JOIN webhooks_delivery d USING (id)
  WHERE d.due_at <= statement_timestamp()
  ORDER BY picked.position, picked.slow_rank, picked.due_at LIMIT %(limit)s
  FOR UPDATE OF d SKIP LOCKED)
UPDATE webhooks_delivery d
SET due_at = statement_timestamp() + make_interval(secs => %(lease)s), tries = d.tries + 1,
  claims = d.claims + 1
FROM taken, webhooks_endpoint e, webhooks_event v
WHERE d.id = taken.id AND e.id = d.endpoint_id AND v.id = d.event_id
RETURNING d.id AS delivery_id, d.claims, d.tries, v.id AS event_id, v.kind, v.at, v.data,
  e.id AS endpoint_id, e.company_id, COALESCE(NULLIF(d.url, ''), e.url) AS url,
  d.url <> '' AS is_callback, e.key_id, e.generation,
  CASE WHEN e.previous_until > statement_timestamp() THEN e.previous_key_id ELSE '' END
    AS previous_key_id, e.older_secrets
