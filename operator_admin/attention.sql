-- For each kind of `KINDS`: the row's id, since when it waits, its subject, and details, which
-- `attention.py` words.

--: company
SELECT id::text, created_at, name, ARRAY[country]::text[] FROM accounts_company
WHERE status = 'pending' AND deleted_at IS NULL

--: report
SELECT r.id::text, r.reported_at, l.slug, ARRAY[r.reason]::text[] FROM links_report r
JOIN links_link l ON l.id = r.link_id WHERE r.handled_at IS NULL

--: payment
SELECT p.id::text, p.created_at, COALESCE(c.name, p.payment_id),
  array_remove(
    ARRAY[p.problem, p.gateway, p.amount::text, p.currency, o.amount::text, o.currency], NULL)
FROM billing_payment p LEFT JOIN billing_order o ON o.id = p.order_id
LEFT JOIN accounts_company c ON c.id = o.company_id
WHERE p.settled_at IS NULL AND NOT p.problem = ''

--: transfer
SELECT t.id::text, t.created_at, COALESCE(NULLIF(t.party_name, ''), t.document_number),
  array_remove(ARRAY[t.problem, t.amount::text, t.currency, o.amount::text, o.currency], NULL)
FROM billing_banktransfer t LEFT JOIN billing_order o ON o.id = t.order_id
WHERE t.state = 'review'

--: refund
SELECT r.id::text, r.created_at, r.refund_id,
  ARRAY[CASE WHEN r.payment_id IS NULL THEN 'unknown' WHEN r.problem = '' THEN 'spent'
    ELSE r.problem END]::text[]
FROM billing_refund r
WHERE (r.payment_id IS NULL OR r.taken < r.tokens OR NOT r.problem = '')
  AND (r.returned_at IS NULL OR r.problem = 'won') AND r.settled_at IS NULL

--: month
SELECT m.id::text, m.created_at, c.name, ARRAY[to_char(m.month, 'MM.YYYY')]
FROM billing_closedmonth m JOIN accounts_company c ON c.id = m.company_id WHERE m.is_due

--: alert
SELECT id::text, began_at, subject, ARRAY[rule]::text[] FROM operator_admin_alert
WHERE ended_at IS NULL AND notices > 0

--: vendor
SELECT id::text, at, provider, array_remove(ARRAY[code, detail]::text[], '')
FROM channels_provideralert
WHERE kind IN ('refused', 'warning', 'template') AND at > now() - interval '1 day'

--: approval
SELECT id::text, changed_at, provider, ARRAY[trim(name || ' ' || language), status]
FROM channels_vendorapproval
WHERE is_used AND status IN ('rejected', 'paused', 'disabled', 'missing')

--: incident
SELECT id::text, began_at, titles::text, '{}'::text[] FROM operator_admin_incident
WHERE resolved_at IS NULL AND began_at <= clock_timestamp()
