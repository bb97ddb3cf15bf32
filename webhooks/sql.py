"""The webhook dispatcher's SQL statements, each with what it guarantees."""

# Endpoints that may be called.
_CALLABLE_ENDPOINTS = """webhooks_endpoint e JOIN accounts_company c
    ON c.id = e.company_id AND c.status <> 'suspended'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL"""

_PRIORITIES = "(VALUES (0), (1)) AS p(priority)"  # each is a range of the index
# A separate, cheaper check: workers poll often, mostly in vain. Two index look-ups per endpoint.
ANY_DUE = f"""
SELECT EXISTS (
  SELECT 1 FROM {_CALLABLE_ENDPOINTS} CROSS JOIN {_PRIORITIES}
  CROSS JOIN LATERAL (
    SELECT 1 FROM webhooks_delivery
    WHERE endpoint_id = e.id AND priority = p.priority AND due_at <= statement_timestamp()
    LIMIT 1) d)
"""  # noqa: S608

# Claims due deliveries by their priority, limited per endpoint and per company, one at a time for a
# failing endpoint, companies with the fewest calls in flight first; slow companies in the order of
# their list, and with no more calls together than their share. Only claimed rows are locked; rows
# locked by another worker are skipped, so more candidates are read than wanted. A claim lasts for
# the lease; after a crash the delivery is due again.
CLAIM = f"""
WITH busy AS (
  SELECT * FROM unnest(%(deliveries)s::uuid[], %(endpoints)s::uuid[], %(companies)s::bigint[])
    AS b(delivery, endpoint, company)),
waiting AS (
  SELECT d.id, d.priority, d.due_at, e.company_id FROM {_CALLABLE_ENDPOINTS}
  CROSS JOIN LATERAL (
    SELECT next.id, p.priority, next.due_at FROM {_PRIORITIES}
    CROSS JOIN LATERAL (
      SELECT id, due_at FROM webhooks_delivery
      WHERE endpoint_id = e.id AND priority = p.priority AND due_at <= statement_timestamp()
        AND id <> ALL(%(deliveries)s::uuid[])
      ORDER BY due_at LIMIT %(share)s) next
    ORDER BY p.priority, next.due_at
    LIMIT GREATEST(0, CASE WHEN e.failing_since IS NULL THEN %(share)s ELSE 1 END
      - (SELECT count(*) FROM busy WHERE endpoint = e.id))) d),
placed AS (
  SELECT id, due_at, row_number() OVER (PARTITION BY company_id ORDER BY priority, due_at)
    + (SELECT count(*) FROM busy WHERE company = company_id) AS place,
    COALESCE(array_position(%(slow)s::bigint[], company_id), 0) AS turn
  FROM waiting),
ranked AS (
  SELECT id, due_at, place, turn,
    row_number() OVER (PARTITION BY turn > 0 ORDER BY place, turn, due_at) AS rank
  FROM placed WHERE place <= %(company_share)s),
picked AS (
  SELECT id, due_at, place, turn FROM ranked WHERE turn = 0 OR rank <= %(slow_share)s
  ORDER BY place, turn, due_at LIMIT 8 * %(limit)s),
taken AS (
  SELECT d.id FROM picked JOIN webhooks_delivery d USING (id)
  WHERE d.due_at <= statement_timestamp()
  ORDER BY picked.place, picked.turn, picked.due_at LIMIT %(limit)s
  FOR UPDATE OF d SKIP LOCKED)
UPDATE webhooks_delivery d
SET due_at = statement_timestamp() + make_interval(secs => %(lease)s), tries = d.tries + 1,
  claims = d.claims + 1
FROM taken, webhooks_endpoint e, webhooks_event v
WHERE d.id = taken.id AND e.id = d.endpoint_id AND v.id = d.event_id
RETURNING d.id AS delivery_id, d.claims, d.tries, v.id AS event_id, v.kind, v.at, v.data,
  e.id AS endpoint_id, e.company_id, e.url, e.key_id, e.generation,
  CASE WHEN e.previous_until > statement_timestamp() THEN e.previous_key_id ELSE '' END
    AS previous_key_id, e.older_secrets
"""  # noqa: S608

# Lock order everywhere: endpoints by id, then their deliveries.
LOCK_ENDPOINTS = """
SELECT e.id FROM webhooks_endpoint e
WHERE e.id IN (SELECT endpoint_id FROM webhooks_delivery WHERE id = ANY(%s::uuid[]))
ORDER BY e.id FOR NO KEY UPDATE
"""

# Skips deliveries purged meanwhile.
INSERT_ATTEMPTS = """
INSERT INTO webhooks_deliveryattempt
  (delivery_id, started_at, duration_ms, headers, status, answer, error)
SELECT o.* FROM unnest(%s::uuid[], %s::timestamptz[], %s::int[], %s::jsonb[], %s::int[],
                       %s::text[], %s::text[]) AS o(id, at, ms, headers, status, answer, error)
WHERE EXISTS (SELECT 1 FROM webhooks_delivery d WHERE d.id = o.id)
"""

# Only the holder of the claim writes: after the lease another worker may hold it. A delivery
# cancelled meanwhile stays cancelled unless it was accepted after all.
UPDATE_DELIVERIES = """
UPDATE webhooks_delivery d SET state = o.state,
  due_at = statement_timestamp() + make_interval(secs => o.due_in),
  finished_at = CASE WHEN o.state <> 'pending' THEN statement_timestamp() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::float[]) AS o(id, claims, state, due_in)
WHERE d.id = o.id AND d.claims = o.claims
  AND (d.due_at IS NOT NULL OR o.state = 'delivered')
RETURNING d.id, d.round_at
"""

MARK_FAILING = """
UPDATE webhooks_endpoint SET failing_since = statement_timestamp()
WHERE id = ANY(%s::uuid[]) AND failing_since IS NULL
"""

MARK_ACCEPTING = """
UPDATE webhooks_endpoint SET last_success_at = statement_timestamp(), failing_since = NULL
WHERE id = ANY(%s::uuid[])
"""

# Fails pending deliveries to disabled and deleted endpoints; skips locked rows.
CANCEL_UNDELIVERABLE = """
WITH off AS (
  SELECT d.id FROM webhooks_endpoint e
  CROSS JOIN LATERAL (
    SELECT id FROM webhooks_delivery WHERE endpoint_id = e.id AND due_at IS NOT NULL
    FOR UPDATE SKIP LOCKED) d
  WHERE e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL
  LIMIT %s)
UPDATE webhooks_delivery d
SET state = 'failed', due_at = NULL, finished_at = statement_timestamp()
FROM off WHERE d.id = off.id
"""
