-- Endpoints that may be called: enabled, of a company that is not suspended.
--: callable_endpoints
webhooks_endpoint endpoint JOIN accounts_company company
    ON company.id = endpoint.company_id AND company.status <> 'suspended'
    AND endpoint.disabled_at IS NULL AND endpoint.deleted_at IS NULL

-- The condition that a delivery goes to its endpoint's URL, or to another on the same host.
--: is_on_own_host
(delivery.url = '' OR {delivery_origin} = {endpoint_origin})

-- Each priority is a range of the index.
--: priorities
(VALUES (0), (1)) AS priorities(priority)

-- Whether a delivery is due: a separate, cheaper check with two index lookups per endpoint, since
-- workers poll often, mostly in vain.
--: any_due
SELECT EXISTS (
  SELECT FROM {callable_endpoints} CROSS JOIN {priorities}
  CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_delivery
    WHERE endpoint_id = endpoint.id AND priority = priorities.priority
      AND due_at <= statement_timestamp()
    LIMIT 1) d)

-- Locks endpoints. The lock order is everywhere: endpoints by id, then their deliveries.
--: lock_endpoints
SELECT endpoint.id, endpoint.url FROM webhooks_endpoint endpoint
WHERE endpoint.deleted_at IS NULL
  AND endpoint.id IN (SELECT endpoint_id FROM webhooks_delivery WHERE id = ANY(%s::uuid[]))
ORDER BY endpoint.id FOR NO KEY UPDATE

-- Inserts attempts; skips those of deliveries purged meanwhile.
--: insert_attempts
INSERT INTO webhooks_deliveryattempt
  (delivery_id, started_at, duration_ms, headers, status, response, error)
SELECT outcome.* FROM unnest(%s::uuid[], %s::timestamptz[], %s::int[], %s::jsonb[], %s::int[],
                       %s::text[], %s::text[])
  AS outcome(id, at, ms, headers, status, response, error)
WHERE EXISTS (SELECT FROM webhooks_delivery delivery WHERE delivery.id = outcome.id)

-- Writes the outcomes of deliveries. Only the holder of the claim writes: after the lease another
-- worker may hold it. A delivery cancelled meanwhile stays cancelled unless it was accepted after
-- all.
--: update_deliveries
UPDATE webhooks_delivery delivery SET state = outcome.state,
  due_at = statement_timestamp() + make_interval(secs => outcome.due_in),
  finished_at = CASE WHEN outcome.state <> 'pending' THEN statement_timestamp() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::float[]) AS outcome(id, claims, state, due_in)
WHERE delivery.id = outcome.id AND delivery.claims = outcome.claims
  AND (delivery.due_at IS NOT NULL OR outcome.state = 'delivered')
RETURNING delivery.id, delivery.round_at

-- Starts the clock of the automatic switch-off; a running one stays.
--: mark_failing
UPDATE webhooks_endpoint SET failing_since = statement_timestamp()
WHERE id = ANY(%s::uuid[]) AND failing_since IS NULL

-- Stops the clock, since an event was accepted.
--: mark_accepting
UPDATE webhooks_endpoint SET last_success_at = statement_timestamp(), failing_since = NULL
WHERE id = ANY(%s::uuid[])

-- Fails pending deliveries to disabled and deleted endpoints, and to hosts that their endpoints
-- have left; skips locked rows. Finds each endpoint with a pending delivery by one index lookup:
-- deleted endpoints are kept for a month, and anybody may create and delete any number of them.
--: cancel_undeliverable
WITH RECURSIVE waiting AS (
  (SELECT endpoint_id FROM webhooks_delivery WHERE due_at IS NOT NULL
   ORDER BY endpoint_id LIMIT 1)
  UNION ALL
  SELECT (SELECT delivery.endpoint_id FROM webhooks_delivery delivery
          WHERE delivery.due_at IS NOT NULL AND delivery.endpoint_id > waiting.endpoint_id
          ORDER BY delivery.endpoint_id LIMIT 1)
  FROM waiting WHERE waiting.endpoint_id IS NOT NULL),
off AS (
  SELECT delivery.id FROM waiting JOIN webhooks_endpoint endpoint
    ON endpoint.id = waiting.endpoint_id
  CROSS JOIN LATERAL (
    SELECT id FROM webhooks_delivery delivery WHERE endpoint_id = endpoint.id AND due_at IS NOT NULL
      AND (endpoint.disabled_at IS NOT NULL OR endpoint.deleted_at IS NOT NULL
        OR {is_on_own_host} IS NOT TRUE)
    FOR UPDATE SKIP LOCKED) delivery
  LIMIT %s)
UPDATE webhooks_delivery delivery
SET state = 'failed', due_at = NULL, finished_at = statement_timestamp()
FROM off WHERE delivery.id = off.id
