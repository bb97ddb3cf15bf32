"""The webhook dispatcher's SQL statements, each with what it guarantees."""

from storage.statements import sql_files
from webhooks.events import origin_sql

# Endpoints that may be called.
_CALLABLE_ENDPOINTS = """webhooks_endpoint e JOIN accounts_company c
    ON c.id = e.company_id AND c.status <> 'suspended'
    AND e.disabled_at IS NULL AND e.deleted_at IS NULL"""

# The condition on a delivery `d` of endpoint `e`: it goes to that URL, or to one on its host.
_IS_AT_HOME = f"(d.url = '' OR {origin_sql('d.url')} = {origin_sql('e.url')})"

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

CLAIM = sql_files.fill(
    sql_files.read("webhooks/claim.sql"),
    callable_endpoints=_CALLABLE_ENDPOINTS,
    priorities=_PRIORITIES,
    is_at_home=_IS_AT_HOME,
)

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

# Fails pending deliveries to disabled and deleted endpoints, and to hosts that their endpoints have
# left; skips locked rows.
CANCEL_UNDELIVERABLE = f"""
WITH off AS (
  SELECT d.id FROM webhooks_endpoint e
  CROSS JOIN LATERAL (
    SELECT id FROM webhooks_delivery d WHERE endpoint_id = e.id AND due_at IS NOT NULL
      AND (e.disabled_at IS NOT NULL OR e.deleted_at IS NOT NULL OR {_IS_AT_HOME} IS NOT TRUE)
    FOR UPDATE SKIP LOCKED) d
  LIMIT %s)
UPDATE webhooks_delivery d
SET state = 'failed', due_at = NULL, finished_at = statement_timestamp()
FROM off WHERE d.id = off.id
"""  # noqa: S608
