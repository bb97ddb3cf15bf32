"""Finds, locks and erases the rows of one person, in columns that `stored_fields` names too.

Lock order: verification → link → message → attempt (docs/architecture.md). No row that money
depends on is deleted, and `billing_transfer` holds no phone.
"""

from channels import stored_fields

MESSAGES = """
SELECT id, company_id, kind, subject_id, (params ->> 'link')::uuid AS link_id
FROM channels_message
WHERE phone = ANY(%(spellings)s)
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)
ORDER BY created_at, id
"""
ATTEMPTS = "SELECT id FROM channels_attempt WHERE message_id = ANY(%s) ORDER BY started_at, id"
# `pattern` only preselects; `persons.person` parses the results.
LINKS_WITH = """
SELECT link.id, link.company_id, company.country, alias, text
FROM links_link link JOIN accounts_company company ON company.id = link.company_id
  CROSS JOIN LATERAL (SELECT CASE WHEN link.is_alias THEN link.slug ELSE '' END AS alias) AS chosen
  CROSS JOIN LATERAL (SELECT concat_ws(' ', url, utm, expired_url, alias) AS text) AS named
WHERE (%(company_id)s::bigint IS NULL OR link.company_id = %(company_id)s)
  AND (%(mode)s = '' OR link.mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR link.created_at <= %(until)s)
  AND text ~* %(pattern)s
"""
# An import makes its links under this lock: one that runs on would make links of the person later.
LOCK_IMPORTS = """
SELECT FROM links_linkimport WHERE state IN ('draft', 'running')
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
ORDER BY id FOR NO KEY UPDATE
"""
UNMADE_LINKS_WITH = """
SELECT unmade.id, company_id, company.country, alias, named.text
FROM links_linkimport import JOIN accounts_company company ON company.id = import.company_id
  JOIN links_linkimportrow unmade ON unmade.link_import_id = import.id
  CROSS JOIN LATERAL (SELECT concat_ws(' ', url, alias) AS text) AS named
WHERE import.state IN ('draft', 'running') AND short_url = '' AND error = ''
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR import.mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR import.created_at <= %(until)s)
  AND text ~* %(pattern)s
"""

LOCKS = (
    "SELECT FROM otp_verification WHERE id = ANY(%(verifications)s) ORDER BY id FOR NO KEY UPDATE",
    "SELECT FROM links_link WHERE id = ANY(%(links)s) ORDER BY id FOR NO KEY UPDATE",
    "SELECT FROM channels_message WHERE id = ANY(%(messages)s) ORDER BY id FOR NO KEY UPDATE",
)

# When the person's data can be erased, if not now: it may have a message without an outcome, a hold
# of a later attempt, or a code that can be entered.
ERASABLE_AT = """
SELECT max(until) FROM (
  SELECT deadline AS until FROM channels_message
  WHERE id = ANY(%(messages)s) AND (state IN ('queued', 'sent') OR is_owed)
  UNION ALL
  SELECT expires_at FROM otp_verification
  WHERE id = ANY(%(verifications)s) AND expires_at > now() AND verified_at IS NULL
    AND superseded_at IS NULL AND attempts < max_attempts) AS open
"""
# Wrong codes count against guessing for a day: a stolen key must not reset the count by erasing.
GUESS_LIMIT_UNTIL = """
SELECT max(judged_at) + interval '24 hours' FROM otp_verification
WHERE id = ANY(%(verifications)s) AND judged_at > now() - interval '24 hours'
  AND attempts > (verified_at IS NOT NULL)::int
"""

VERIFICATIONS = """
UPDATE otp_verification SET phone = %(anonymised)s, mac = '\\x', binding = NULL,
  purpose = replace(purpose, %(digits)s, '…'),
  superseded_at = COALESCE(superseded_at, now()),
  settled_at = CASE WHEN verified_at IS NULL THEN now() ELSE settled_at END
WHERE id = ANY(%(verifications)s)
"""

# The slug stays, so that an alias is not given to somebody else too soon, unless it contains a
# phone. If the company enables the link again, it leads nowhere.
LINKS = """
UPDATE links_link SET url = 'about:blank', utm = '', expired_url = '', reuse_key = NULL,
  slug = CASE WHEN id = ANY(%(aliases)s) THEN id::text ELSE slug END,
  key = CASE WHEN id = ANY(%(aliases)s) THEN id::text ELSE key END,
  disabled_at = COALESCE(disabled_at, now())
WHERE id = ANY(%(links)s)
"""
# The import refuses a row without an address.
UNMADE_LINKS = "UPDATE links_linkimportrow SET url = '', alias = '' WHERE id = ANY(%(unmade)s)"
CLICKS = "DELETE FROM links_click WHERE link_id = ANY(%(links)s)"
REPORTS = "UPDATE links_report SET words = '' WHERE link_id = ANY(%(links)s) AND words <> ''"

_EMPTIED = ", ".join(f"{name} = ''" for name in stored_fields.NAMES)
# Parameters that say nothing about the person stay, such as the company's own templates. All others
# are removed, including ones added later. `text` was written to this person, and so were the
# templates of a code with a custom text.
MESSAGES_ERASED = f"""
UPDATE channels_message SET phone = %(anonymised)s, {_EMPTIED},
  params = COALESCE((
      SELECT jsonb_object_agg(kept.key, kept.value) FROM jsonb_each(params) AS kept
      WHERE kept.key IN ('brand', 'door', 'key', 'length', 'link', 'minutes', 'route')
        OR (kept.key = 'texts' AND content <> 'code_with_text')), '{{}}')
    || CASE WHEN params ? 'short_url' THEN '{{"short_url": null}}' ELSE '{{}}' END::jsonb
    || CASE WHEN params ? 'text' THEN '{{"text": ""}}' ELSE '{{}}' END::jsonb
WHERE id = ANY(%(messages)s)
"""  # noqa: S608 - our columns


def _whole_phones(name: str) -> str:
    """Messages to other people in which this stored text is the whole phone, their events, and the
    answers to these, which may quote them. A phone within a longer text, or in the metadata, is the
    company's own text: no index finds it.
    """
    return f"""
WITH named AS (
  SELECT id FROM channels_message
  WHERE company_id IN (SELECT id FROM accounts_company
      WHERE %(company_id)s::bigint IS NULL OR id = %(company_id)s)
    AND mode IN ('live', 'test') AND (%(mode)s = '' OR mode = %(mode)s)
    AND {name} <> '' AND {name} = ANY(%(whole_phones)s)
    AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)
  ORDER BY id FOR NO KEY UPDATE),
changed AS (
  UPDATE channels_message m SET {name} = '' FROM named WHERE m.id = named.id
  RETURNING m.id, company_id, mode, subject_id),
events AS (
  UPDATE webhooks_event e SET data = e.data || jsonb_build_object('{name}', NULL) FROM changed m
  WHERE e.company_id = m.company_id AND e.mode = m.mode AND e.data ->> '{name}' IS NOT NULL
    AND e.key IN ('msg_' || replace(m.id::text, '-', ''),
      'otp_' || replace(m.subject_id::text, '-', ''))
  RETURNING e.id),
answers AS (
  UPDATE webhooks_deliveryattempt SET answer = '' WHERE answer <> '' AND delivery_id IN (
    SELECT id FROM webhooks_delivery WHERE event_id IN (SELECT id FROM events)))
SELECT FROM changed
"""  # noqa: S608 - our column


WHOLE_PHONES = {f"{name}s": _whole_phones(name) for name in stored_fields.NAMES}
# WhatsApp's message ids contain the phone.
ATTEMPTS_ERASED = """
UPDATE channels_attempt SET provider_id = NULL, error_detail = '' WHERE id = ANY(%(attempts)s)
"""
PARTS = "DELETE FROM channels_part WHERE attempt_id = ANY(%(attempts)s)"
# Receipts from a call of the vendor that reported on other people too.
SHARED_CALLS = """
SELECT DISTINCT own.id FROM channels_receipt own JOIN channels_receipt other
  ON other.provider = own.provider AND other.received_at = own.received_at
WHERE own.attempt_id = ANY(%(attempts)s)
  AND (other.attempt_id IS NULL OR other.attempt_id <> ALL(%(attempts)s))
"""
# Receipts from one call of the vendor share its body, with those of other people too.
SHARED_BODIES = """
UPDATE channels_receipt SET raw = '' WHERE raw <> '' AND position(%(digits)s::bytea IN raw) > 0
  AND (provider, received_at) IN (
    SELECT provider, received_at FROM channels_receipt WHERE attempt_id = ANY(%(attempts)s))
"""
# The row stays, since its digest recognises a repeat.
RECEIPTS = """
UPDATE channels_receipt SET phone = '', raw = '', provider_id = '', alternatives = '{}',
  error_detail = ''
WHERE attempt_id = ANY(%(attempts)s)
"""
# A call about another system's message may mention our messages to other people too.
UNMATCHED_RECEIPTS = """
WITH unmatched AS (
  SELECT id, provider, received_at FROM channels_receipt WHERE attempt_id IS NULL
    AND (phone = %(phone)s OR position(%(digits)s::bytea IN raw) > 0)
    AND (%(until)s::timestamptz IS NULL OR received_at <= %(until)s)),
bodies AS (
  UPDATE channels_receipt SET raw = ''
  WHERE attempt_id IS NOT NULL AND position(%(digits)s::bytea IN raw) > 0
    AND (provider, received_at) IN (SELECT provider, received_at FROM unmatched))
DELETE FROM channels_receipt WHERE (id, received_at) IN (SELECT id, received_at FROM unmatched)
"""
VENDOR_USER_IDS = """
DELETE FROM channels_knownrecipient WHERE attempt_id = ANY(%(attempts)s)
"""
ALERTS = """
DELETE FROM channels_provideralert WHERE position(%(digits)s IN detail) > 0
  OR detail IN (SELECT user_id FROM channels_knownrecipient WHERE attempt_id = ANY(%(attempts)s))
"""
CONTACTS = """
DELETE FROM channels_contact WHERE phone = %(phone)s
  AND (%(until)s::timestamptz IS NULL OR shared_at <= %(until)s)
"""

EVENT_IDS = """
SELECT id FROM webhooks_event WHERE company_id = ANY(%(companies)s) AND (
  (mode IN ('live', 'test') AND kind = ANY(%(event_kinds)s) AND key = ANY(%(event_keys)s))
  OR (kind = 'link.clicked' AND data ->> 'id' = ANY(%(link_ids)s)))
"""
# A webhook that is still due goes out anonymised.
EVENTS = """
UPDATE webhooks_event SET data = data
  || CASE WHEN data ? 'phone' THEN jsonb_build_object('phone', %(anonymised)s::text)
          ELSE '{}' END
  || CASE WHEN data ? 'url' THEN '{"url": "about:blank"}' ELSE '{}' END::jsonb
  || CASE WHEN kind = 'link.clicked' AND data ->> 'id' <> ALL(%(alias_ids)s) THEN '{}'
          WHEN data ? 'short_url' THEN '{"short_url": null}' ELSE '{}' END::jsonb
  || CASE WHEN data ? 'purpose' THEN jsonb_build_object(
       'purpose', replace(data ->> 'purpose', %(digits)s, '…')) ELSE '{}' END
  || (SELECT COALESCE(jsonb_object_agg(name, 'null'::jsonb), '{}')
      FROM unnest(%(own_texts)s::text[]) AS name WHERE data ? name)
WHERE id = ANY(%(events)s)
"""
# A message's own URL: its deliveries that are still due fail, as no endpoint is registered there.
WEBHOOK_URLS = """
UPDATE webhooks_delivery SET url = 'about:blank' WHERE url <> '' AND event_id = ANY(%(events)s)
"""
# The response of the company's server may quote the event.
WEBHOOK_ANSWERS = """
UPDATE webhooks_deliveryattempt SET answer = '' WHERE answer <> '' AND delivery_id IN (
  SELECT id FROM webhooks_delivery WHERE event_id = ANY(%(events)s))
"""
STORED_ANSWERS = """
UPDATE api_idempotentrequest SET body = replace(body, %(phone)s, %(anonymised)s)
WHERE position(%(phone)s IN body) > 0
  AND (%(company_id)s::bigint IS NULL OR company_id = %(company_id)s)
  AND (%(mode)s = '' OR mode = %(mode)s)
  AND (%(until)s::timestamptz IS NULL OR created_at <= %(until)s)
"""
# The targets of the person's links, short links in answers to sends, and aliases that contain the
# phone. An answer about one link is like an item of `data` in that of `POST /links/bulk`.
ANSWERS_ABOUT_LINKS = """
UPDATE api_idempotentrequest r SET body = (r.body::jsonb || (
  SELECT CASE WHEN r.path = '/links/bulk'
    THEN jsonb_build_object('data', jsonb_agg(emptied ORDER BY n)) ELSE jsonb_agg(emptied) -> 0 END
  FROM (
    SELECT n, item
      || CASE WHEN item ->> 'id' = ANY(%(link_ids)s) THEN '{"url": "about:blank"}'
              WHEN item ->> 'id' = ANY(%(event_keys)s) AND item ? 'short_url'
              THEN '{"short_url": null}' ELSE '{}' END::jsonb
      || CASE WHEN item ->> 'id' = ANY(%(alias_ids)s)
              THEN '{"short_url": null, "slug": null}' ELSE '{}' END::jsonb AS emptied
    FROM jsonb_array_elements(CASE WHEN r.path = '/links/bulk' THEN r.body::jsonb -> 'data'
      ELSE jsonb_build_array(r.body::jsonb) END) WITH ORDINALITY AS items(item, n)) AS own))::text
WHERE company_id = ANY(%(companies)s) AND (
  body::jsonb ->> 'id' = ANY(%(link_ids)s::text[] || %(event_keys)s::text[])
  OR jsonb_path_query_array(body::jsonb, '$.data[*].id') ?| %(link_ids)s::text[])
"""
ADMIN_LOG = """
UPDATE django_admin_log SET object_repr = replace(object_repr, %(phone)s, %(anonymised)s),
  change_message = replace(change_message, %(phone)s, %(anonymised)s)
WHERE position(%(phone)s IN object_repr) > 0 OR position(%(phone)s IN change_message) > 0
"""

# Run in this order; keys name the counts. `ALERTS` reads rows that `VENDOR_USER_IDS` deletes.
ERASE = {
    "verifications": VERIFICATIONS,
    "links": LINKS,
    "unmade_links": UNMADE_LINKS,
    "clicks": CLICKS,
    "link_reports": REPORTS,
    "messages": MESSAGES_ERASED,
    **WHOLE_PHONES,
    "attempts": ATTEMPTS_ERASED,
    "sms_parts": PARTS,
    "shared_receipt_bodies": SHARED_BODIES,
    "receipts": RECEIPTS,
    "events": EVENTS,
    "webhook_urls": WEBHOOK_URLS,
    "webhook_answers": WEBHOOK_ANSWERS,
    "idempotent_requests": STORED_ANSWERS,
    "answers_about_links": ANSWERS_ABOUT_LINKS,
}
# Data of the service itself about the person, for all companies.
ERASE_EVERYWHERE = {
    "alerts": ALERTS,
    "vendor_user_ids": VENDOR_USER_IDS,
    "unmatched_receipts": UNMATCHED_RECEIPTS,
    "bot_contacts": CONTACTS,
    "admin_log": ADMIN_LOG,
}


def uses_phone(statement: str) -> bool:
    """Whether it runs for each spelling of the phone: vendors still use former spellings."""
    return "%(phone)s" in statement or "%(digits)s" in statement
