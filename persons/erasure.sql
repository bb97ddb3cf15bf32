-- Erases the rows of one person, in this order; the names are those of the counts. No row that
-- money depends on is deleted, and `billing_transfer` holds no phone. {emptied}: the texts that
-- `channels.stored_fields` names; {purpose} and {purpose_of_event}: without the phone.

--: verifications
UPDATE otp_verification SET phone = %(anonymised)s, mac = '\x', binding = NULL,
  purpose = {purpose},
  superseded_at = COALESCE(superseded_at, now()),
  settled_at = CASE WHEN verified_at IS NULL THEN now() ELSE settled_at END
WHERE id = ANY(%(verifications)s)

-- The slug stays, so that an alias is not given to somebody else too soon, unless it contains a
-- phone. If the company enables the link again, it leads nowhere.
--: links
UPDATE links_link SET url = 'about:blank', utm = '', expired_url = '', reuse_key = NULL,
  slug = CASE WHEN id = ANY(%(aliases)s) THEN id::text ELSE slug END,
  key = CASE WHEN id = ANY(%(aliases)s) THEN id::text ELSE key END,
  disabled_at = COALESCE(disabled_at, now())
WHERE id = ANY(%(links)s)

-- The import refuses a row without an address.
--: unmade_links
UPDATE links_linkimportrow SET url = '', alias = '' WHERE id = ANY(%(unmade)s)

--: clicks
DELETE FROM links_click WHERE link_id = ANY(%(links)s)

--: link_reports
UPDATE links_report SET words = '' WHERE link_id = ANY(%(links)s) AND words <> ''

-- Parameters that say nothing about the person stay, such as the company's own templates. All
-- others are removed, including ones added later. `text` was written to this person, and so were
-- the templates of a code with a custom text.
--: messages
UPDATE channels_message SET phone = %(anonymised)s, {emptied},
  params = COALESCE((
      SELECT jsonb_object_agg(kept.key, kept.value) FROM jsonb_each(params) AS kept
      WHERE kept.key IN ('brand', 'door', 'key', 'length', 'link', 'minutes', 'route')
        OR (kept.key = 'texts' AND content <> 'code_with_text')), '{}')
    || CASE WHEN params ? 'short_url' THEN '{"short_url": null}' ELSE '{}' END::jsonb
    || CASE WHEN params ? 'text' THEN '{"text": ""}' ELSE '{}' END::jsonb
WHERE id = ANY(%(messages)s)

-- WhatsApp's message ids contain the phone.
--: attempts
UPDATE channels_attempt SET provider_id = NULL, error_detail = '' WHERE id = ANY(%(attempts)s)

--: sms_parts
DELETE FROM channels_part WHERE attempt_id = ANY(%(attempts)s)

-- The vendor's id of the person leads to a message of another company from now on, or to that of
-- the next receipt: a STOP must still find the phone.
--: vendor_user_ids_kept
UPDATE channels_knownrecipient SET seen_at = now() - interval '2 days',
  attempt_id = COALESCE((
    SELECT attempt.id FROM channels_message message
      JOIN channels_attempt attempt ON attempt.message_id = message.id
    WHERE message.phone = ANY(%(spellings)s) AND message.id <> ALL(%(messages)s)
    ORDER BY message.created_at DESC LIMIT 1), attempt_id)
WHERE attempt_id = ANY(%(attempts)s)

-- Receipts from one call of the vendor share its body, with those of other people too.
--: shared_receipt_bodies
UPDATE channels_receipt SET raw = '' WHERE raw <> '' AND position(%(digits)s::bytea IN raw) > 0
  AND (provider, received_at) IN (
    SELECT provider, received_at FROM channels_receipt WHERE attempt_id = ANY(%(attempts)s))

-- The row stays, since its digest recognises a repeat.
--: receipts
UPDATE channels_receipt SET phone = '', raw = '', provider_id = '', alternatives = '{}',
  error_detail = ''
WHERE attempt_id = ANY(%(attempts)s)

-- A webhook that is still due goes out anonymised.
--: events
UPDATE webhooks_event SET data = data
  || CASE WHEN data ? 'phone' THEN jsonb_build_object('phone', %(anonymised)s::text)
          ELSE '{}' END
  || CASE WHEN data ? 'url' THEN '{"url": "about:blank"}' ELSE '{}' END::jsonb
  || CASE WHEN kind = 'link.clicked' AND data ->> 'id' <> ALL(%(alias_ids)s) THEN '{}'
          WHEN data ? 'short_url' THEN '{"short_url": null}' ELSE '{}' END::jsonb
  || CASE WHEN data ? 'purpose' THEN jsonb_build_object(
       'purpose', {purpose_of_event}) ELSE '{}' END
  || (SELECT COALESCE(jsonb_object_agg(name, 'null'::jsonb), '{}')
      FROM unnest(%(own_texts)s::text[]) AS name WHERE data ? name)
WHERE id = ANY(%(events)s)

-- A message's own URL: its deliveries that are still due fail, as no endpoint is registered there.
--: webhook_urls
UPDATE webhooks_delivery SET url = 'about:blank' WHERE url <> '' AND event_id = ANY(%(events)s)

-- The response of the company's server may quote the event.
--: webhook_answers
UPDATE webhooks_deliveryattempt SET response = '' WHERE response <> '' AND delivery_id IN (
  SELECT id FROM webhooks_delivery WHERE event_id = ANY(%(events)s))

--: idempotent_requests
UPDATE api_idempotentrequest SET body = replace(body, %(phone)s, %(anonymised)s)
WHERE position(%(phone)s IN body) > 0
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)

-- The targets of the person's links, short links in responses to sends, and aliases with the phone.
-- A response about one link is like an item of `data` in that of `POST /links/bulk`.
--: responses_about_links
UPDATE api_idempotentrequest stored SET body = (stored.body::jsonb || (
  SELECT CASE WHEN stored.path = '/links/bulk'
    THEN jsonb_build_object('data', jsonb_agg(emptied ORDER BY position))
      ELSE jsonb_agg(emptied) -> 0 END
  FROM (
    SELECT position, item
      || CASE WHEN item ->> 'id' = ANY(%(link_ids)s) THEN '{"url": "about:blank"}'
              WHEN item ->> 'id' = ANY(%(event_keys)s) AND item ? 'short_url'
              THEN '{"short_url": null}' ELSE '{}' END::jsonb
      || CASE WHEN item ->> 'id' = ANY(%(alias_ids)s)
              THEN '{"short_url": null, "slug": null}' ELSE '{}' END::jsonb AS emptied
    FROM jsonb_array_elements(
      CASE WHEN stored.path = '/links/bulk' THEN stored.body::jsonb -> 'data'
           ELSE jsonb_build_array(stored.body::jsonb) END)
      WITH ORDINALITY AS items(item, position)) AS own))::text
WHERE company_id = ANY(%(companies)s) AND (
  body::jsonb ->> 'id' = ANY(%(link_ids)s::text[] || %(event_keys)s::text[])
  OR jsonb_path_query_array(body::jsonb, '$.data[*].id') ?| %(link_ids)s::text[])
