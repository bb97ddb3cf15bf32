UPDATE webhooks_delivery d
SET state = o.state, due_at = statement_timestamp() + make_interval(secs => o.due_in), finished_at =
  CASE WHEN o.state <> 'pending' THEN statement_timestamp() END
FROM unnest(%s::uuid[], %s::int[], %s::text[], %s::float[]) AS o(id, claims, state, due_in)
WHERE d.id = o.id AND d.claims = o.claims AND (d.due_at IS NOT NULL OR o.state = 'delivered')
RETURNING d.id, d.round_at
