-- Parts of statements that append the events of `happened` with their deliveries; an event without
-- a subscriber is not written. Columns of the query {happened}: id, company_id, mode, kind, key,
-- data, at, and for `append_with_callbacks` also callback, an `endpoints.Callback` or NULL.

--: subscribed
SELECT happened.id, happened.company_id, happened.mode, happened.kind, happened.key, happened.data,
  happened.at, endpoint.id AS endpoint_id, '' AS url
FROM happened JOIN webhooks_endpoint endpoint
  ON endpoint.company_id = happened.company_id AND endpoint.mode = happened.mode
  AND happened.kind = ANY(endpoint.kinds)
  AND endpoint.disabled_at IS NULL AND endpoint.deleted_at IS NULL

-- Deliveries to a message's own URL, whatever kinds its endpoint subscribes to; not a second one if
-- that is an endpoint's URL, and none if the endpoint is disabled or has moved to another host.
--: called_back
SELECT happened.id, happened.company_id, happened.mode, happened.kind, happened.key, happened.data,
  happened.at, endpoint.id, happened.callback ->> 'url'
FROM happened JOIN webhooks_endpoint endpoint
  ON endpoint.id = (happened.callback ->> 'endpoint')::uuid
  AND endpoint.company_id = happened.company_id AND endpoint.mode = happened.mode
  AND endpoint.disabled_at IS NULL AND endpoint.deleted_at IS NULL
  AND {endpoint_origin} = {callback_origin}
WHERE NOT EXISTS (
  SELECT FROM webhooks_endpoint subscribed
  WHERE subscribed.company_id = happened.company_id AND subscribed.mode = happened.mode
    AND subscribed.url = happened.callback ->> 'url'
    AND happened.kind = ANY(subscribed.kinds) AND subscribed.disabled_at IS NULL
    AND subscribed.deleted_at IS NULL)

--: inserts
event AS (
  INSERT INTO webhooks_event (id, company_id, mode, kind, key, data, at)
  SELECT DISTINCT ON (id) id, company_id, mode, kind, key, data, at FROM wanted
  ON CONFLICT DO NOTHING RETURNING id)
INSERT INTO webhooks_delivery (id, event_id, endpoint_id, url, priority)
SELECT gen_random_uuid(), event.id, wanted.endpoint_id, wanted.url,
  (wanted.kind = 'link.clicked')::int
FROM event JOIN wanted USING (id)

--: append
happened AS ({happened}), wanted AS ({subscribed}), {inserts}

--: append_with_callbacks
happened AS ({happened}), wanted AS ({subscribed} UNION ALL {called_back}), {inserts}

--: append_one
WITH happened AS (
  SELECT %(id)s::uuid AS id, %(company_id)s::bigint AS company_id, %(mode)s::text AS mode,
    %(kind)s::text AS kind, %(key)s::text AS key, %(data)s::jsonb AS data,
    %(at)s::timestamptz AS at),
wanted AS ({subscribed}), {inserts}
