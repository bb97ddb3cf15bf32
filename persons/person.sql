-- Finds and locks the rows of one person. Lock order: verification → link → message → attempt
-- (docs/architecture.md).

--: messages
SELECT id, company_id, kind, subject_id, (params ->> 'link')::uuid AS link_id
FROM channels_message
WHERE phone = ANY(%(spellings)s)
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)
ORDER BY created_at, id

--: attempts
SELECT id FROM channels_attempt WHERE message_id = ANY(%s) ORDER BY started_at, id

-- `pattern` only preselects; `persons.person` parses the results.
--: links_with
SELECT link.id, link.company_id, company.country, alias, text
FROM links_link link JOIN accounts_company company ON company.id = link.company_id
  CROSS JOIN LATERAL (SELECT CASE WHEN link.is_alias THEN link.slug ELSE '' END AS alias) AS chosen
  CROSS JOIN LATERAL (SELECT concat_ws(' ', url, utm, expired_url, alias) AS text) AS named
WHERE (%(company_id)s::bigint IS NULL OR link.company_id = %(company_id)s)
  AND (%(mode)s = '' OR link.mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR link.created_at <= %(until)s)
  AND text ~* %(pattern)s

-- An import makes its links under this lock: one that runs on would make links of the person later.
--: lock_imports
SELECT FROM links_linkimport WHERE state IN ('draft', 'running')
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
ORDER BY id FOR NO KEY UPDATE

--: unmade_links_with
SELECT unmade.id, company_id, company.country, alias, named.text
FROM links_linkimport import JOIN accounts_company company ON company.id = import.company_id
  JOIN links_linkimportrow unmade ON unmade.link_import_id = import.id
  CROSS JOIN LATERAL (SELECT concat_ws(' ', url, alias) AS text) AS named
WHERE import.state IN ('draft', 'running') AND short_url = '' AND error = ''
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR import.mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR import.created_at <= %(until)s)
  AND text ~* %(pattern)s

--: lock_verifications
SELECT FROM otp_verification WHERE id = ANY(%(verifications)s) ORDER BY id FOR NO KEY UPDATE

--: lock_links
SELECT FROM links_link WHERE id = ANY(%(links)s) ORDER BY id FOR NO KEY UPDATE

--: lock_messages
SELECT FROM channels_message WHERE id = ANY(%(messages)s) ORDER BY id FOR NO KEY UPDATE

-- The time from which the person's data can be erased, if not now: there may be a message without
-- an outcome, a hold of a later attempt, or a code that can be entered.
--: erasable_at
SELECT max(until) FROM (
  SELECT deadline AS until FROM channels_message
  WHERE id = ANY(%(messages)s) AND (state IN ('queued', 'sent') OR is_owed)
  UNION ALL
  SELECT expires_at FROM otp_verification
  WHERE id = ANY(%(verifications)s) AND expires_at > now() AND verified_at IS NULL
    AND superseded_at IS NULL AND attempts < max_attempts) AS open

-- Wrong codes count against guessing for a day, and a delivered code that nobody enters is evidence
-- for the guard within two minutes: a stolen key must not escape either by erasing.
--: counted_until
SELECT max(until) FROM (
  SELECT judged_at + interval '24 hours' AS until FROM otp_verification
  WHERE id = ANY(%(verifications)s) AND judged_at > now() - interval '24 hours'
    AND attempts > (verified_at IS NOT NULL)::int
  UNION ALL
  SELECT delivered_at + interval '2 minutes' FROM channels_message message
    JOIN otp_verification verification ON verification.id = message.subject_id
  WHERE message.id = ANY(%(messages)s) AND message.mode = 'live' AND verified_at IS NULL
    AND delivered_at > now() - interval '2 minutes') AS counted

--: event_ids
SELECT id FROM webhooks_event WHERE company_id = ANY(%(companies)s) AND (
  (mode IN ('live', 'test') AND kind = ANY(%(event_kinds)s) AND key = ANY(%(event_keys)s))
  OR (kind = 'link.clicked' AND data ->> 'id' = ANY(%(link_ids)s)))

-- Receipts from a call of the vendor that reported on other people too.
--: shared_calls
SELECT DISTINCT own.id FROM channels_receipt own JOIN channels_receipt other
  ON other.provider = own.provider AND other.received_at = own.received_at
WHERE own.attempt_id = ANY(%(attempts)s)
  AND (other.attempt_id IS NULL OR other.attempt_id <> ALL(%(attempts)s))
