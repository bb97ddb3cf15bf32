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
    AS given(delivery, endpoint, company)),
waiting AS (
  SELECT delivery.id, delivery.priority, delivery.due_at, endpoint.company_id
  FROM {callable_endpoints}
  CROSS JOIN LATERAL (
    SELECT next.id, priorities.priority, next.due_at FROM {priorities}
    CROSS JOIN LATERAL (
      SELECT id, due_at FROM webhooks_delivery delivery
      WHERE endpoint_id = endpoint.id AND priority = priorities.priority
        AND due_at <= statement_timestamp()
        AND id <> ALL(%(deliveries)s::uuid[]) AND {is_on_own_host}
      ORDER BY due_at LIMIT %(endpoint_limit)s) next
    ORDER BY priorities.priority, next.due_at
    LIMIT GREATEST(0, CASE WHEN endpoint.failing_since IS NULL THEN %(endpoint_limit)s ELSE 1 END
      - (SELECT count(*) FROM busy WHERE busy.endpoint = endpoint.id))) delivery),
positioned AS (
  SELECT id, due_at, row_number() OVER (PARTITION BY company_id ORDER BY priority, due_at)
    + (SELECT count(*) FROM busy WHERE busy.company = company_id) AS position,
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
  SELECT delivery.id FROM picked JOIN webhooks_delivery delivery USING (id)
  WHERE delivery.due_at <= statement_timestamp()
  ORDER BY picked.position, picked.slow_rank, picked.due_at LIMIT %(limit)s
  FOR UPDATE OF delivery SKIP LOCKED)
UPDATE webhooks_delivery delivery
SET due_at = statement_timestamp() + make_interval(secs => %(lease)s), tries = delivery.tries + 1,
  claims = delivery.claims + 1
FROM taken, webhooks_endpoint endpoint, webhooks_event event
WHERE delivery.id = taken.id AND endpoint.id = delivery.endpoint_id AND event.id = delivery.event_id
RETURNING delivery.id AS delivery_id, delivery.claims, delivery.tries, event.id AS event_id,
  event.kind, event.at, event.data, endpoint.id AS endpoint_id, endpoint.company_id,
  COALESCE(NULLIF(delivery.url, ''), endpoint.url) AS url,
  delivery.url <> '' AS is_callback, endpoint.key_id, endpoint.generation,
  CASE WHEN endpoint.previous_until > statement_timestamp()
       THEN endpoint.previous_key_id ELSE '' END
    AS previous_key_id, endpoint.older_secrets
