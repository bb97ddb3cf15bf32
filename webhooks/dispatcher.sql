--: callable_endpoints
webhooks_endpoint e JOIN accounts_company c
    ON c.id = e.company_id AND c.status <> 'suspended'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL

-- The condition that a delivery `d` of endpoint `e` goes to its URL, or to another on its host.
--: is_on_own_host
(d.url = '' OR {delivery_origin} = {endpoint_origin})

-- Each priority is a range of the index.
--: priorities
(VALUES (0), (1)) AS p(priority)

-- A separate, cheaper check: workers poll often, mostly in vain. Two index look-ups per endpoint.
--: any_due
SELECT EXISTS (
  SELECT FROM {callable_endpoints} CROSS JOIN {priorities}
  CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_delivery
    WHERE endpoint_id = e.id AND priority = p.priority AND due_at <= statement_timestamp()
    LIMIT 1) d)

-- Lock order everywhere: endpoints by id, then their deliveries.
--: lock_endpoints
SELECT e.id, e.url FROM webhooks_endpoint e
WHERE e.deleted_at IS NULL
  AND e.id IN (SELECT endpoint_id FROM webhooks_delivery WHERE id = ANY(%s::uuid[]))
ORDER BY e.id FOR NO KEY UPDATE

-- Skips deliveries purged meanwhile.
--: insert_attempts
INSERT INTO webhooks_deliveryattempt
  (delivery_id, started_at, duration_ms, headers, status, answer, error)
SELECT o.* FROM unnest(%s::uuid[], %s::timestamptz[], %s::int[], %s::jsonb[], %s::int[],
                       %s::text[], %s::text[]) AS o(id, at, ms, headers, status, answer, error)
WHERE EXISTS (SELECT FROM webhooks_delivery d WHERE d.id = o.id)

-- Only the holder of the claim writes: after the lease another worker may hold it. A delivery
-- canceled meanwhile stays canceled unless it was accepted after all.
--: update_deliveries
UPDATE webhooks_delivery d SET state = o.state,
  due_at = statement_timestamp() + make_interval(secs => o.due_in),
  finished_at = CASE WHEN o.state <> 'pending' THEN statement_timestamp() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::float[]) AS o(id, claims, state, due_in)
WHERE d.id = o.id AND d.claims = o.claims
  AND (d.due_at IS NOT NULL OR o.state = 'delivered')
RETURNING d.id, d.round_at

--: mark_failing
UPDATE webhooks_endpoint SET failing_since = statement_timestamp()
WHERE id = ANY(%s::uuid[]) AND failing_since IS NULL

--: mark_accepting
UPDATE webhooks_endpoint SET last_success_at = statement_timestamp(), failing_since = NULL
WHERE id = ANY(%s::uuid[])

-- Fails pending deliveries to disabled and deleted endpoints, and to hosts that their endpoints
-- have left; skips locked rows. Finds each endpoint with a pending delivery by one index look-up:
-- deleted endpoints are kept for a month, and anybody may create and delete any number of them.
--: cancel_undeliverable
WITH RECURSIVE waiting AS (
  (SELECT endpoint_id FROM webhooks_delivery WHERE due_at IS NOT NULL
   ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT (SELECT d.endpoint_id FROM webhooks_delivery d
          WHERE d.due_at IS NOT NULL AND d.endpoint_id > waiting.endpoint_id
          ORDER BY d.endpoint_id LIMIT 1)
  FROM waiting WHERE waiting.endpoint_id IS NOT NULL),
off AS (
  SELECT d.id FROM waiting JOIN webhooks_endpoint e ON e.id = waiting.endpoint_id
  CROSS JOIN LATERAL (
    SELECT id FROM webhooks_delivery d WHERE endpoint_id = e.id AND due_at IS NOT NULL
      AND (e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL OR {is_on_own_host} IS NOT TRUE)
    FOR UPDATE SKIP LOCKED) d
  LIMIT %s)
UPDATE webhooks_delivery d
SET state = 'failed', due_at = NULL, finished_at = statement_timestamp()
FROM off WHERE d.id = off.id
