-- For each kind of `KINDS`: the row's id, since when it waits, its subject, and details, which
-- `attention.py` words.

--: company
SELECT id::text, created_at, name, ARRAY[country]::text[] FROM accounts_company
WHERE status = 'pending' AND deleted_at IS NULL

--: report
SELECT report.id::text, report.reported_at, link.slug, ARRAY[report.reason]::text[]
FROM links_report report
JOIN links_link link ON link.id = report.link_id WHERE report.handled_at IS NULL

--: payment
SELECT payment.id::text, payment.created_at, COALESCE(company.name, payment.payment_id),
  array_remove(
    ARRAY[payment.problem, payment.gateway, payment.amount::text, payment.currency,
      billing_order.amount::text, billing_order.currency], NULL)
FROM billing_payment payment LEFT JOIN billing_order ON billing_order.id = payment.order_id
LEFT JOIN accounts_company company ON company.id = billing_order.company_id
WHERE payment.settled_at IS NULL AND payment.problem <> ''

--: transfer
SELECT bank_transfer.id::text, bank_transfer.created_at,
  COALESCE(NULLIF(bank_transfer.party_name, ''), bank_transfer.document_number),
  array_remove(ARRAY[bank_transfer.problem, bank_transfer.amount::text, bank_transfer.currency,
    billing_order.amount::text, billing_order.currency], NULL)
FROM billing_banktransfer bank_transfer LEFT JOIN billing_order
  ON billing_order.id = bank_transfer.order_id
WHERE bank_transfer.state = 'review'

--: refund
SELECT refund.id::text, refund.created_at, refund.refund_id,
  ARRAY[CASE WHEN refund.payment_id IS NULL THEN 'unknown' WHEN refund.problem = '' THEN 'spent'
    ELSE refund.problem END]::text[]
FROM billing_refund refund
WHERE (refund.payment_id IS NULL OR refund.taken < refund.tokens OR refund.problem <> '')
  AND (refund.returned_at IS NULL OR refund.problem = 'won') AND refund.settled_at IS NULL

--: month
SELECT closed_month.id::text, closed_month.created_at, company.name,
  ARRAY[to_char(closed_month.month, 'MM.YYYY')]
FROM billing_closedmonth closed_month JOIN accounts_company company
  ON company.id = closed_month.company_id
WHERE closed_month.is_due

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
