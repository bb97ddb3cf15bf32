"""What waits for the operator, by kind: the rows, who may act on them, and the one action.

Each kind's rows are few, and found by an index or in a small table.
"""

from dataclasses import dataclass

from django.utils.translation import gettext_lazy as _

from config.texts import StrOrPromise

# Each SELECT: the row's id, since when it waits, what it is about, and what the operator reads.
_COMPANIES = """
SELECT id::text, created_at, name, country FROM accounts_company
WHERE status = 'pending' AND deleted_at IS NULL
"""
_REPORTS = """
SELECT r.id::text, r.reported_at, l.slug, r.reason FROM links_report r
JOIN links_link l ON l.id = r.link_id WHERE r.handled_at IS NULL
"""
_PAYMENTS = """
SELECT p.id::text, p.created_at, COALESCE(c.name, p.payment_id),
  concat_ws(' ', p.problem, p.gateway, p.amount, p.currency, o.amount, o.currency)
FROM billing_payment p LEFT JOIN billing_order o ON o.id = p.order_id
LEFT JOIN accounts_company c ON c.id = o.company_id
WHERE p.settled_at IS NULL AND NOT p.problem = ''
"""
_TRANSFERS = """
SELECT t.id::text, t.created_at, COALESCE(NULLIF(t.party_name, ''), t.document_number),
  concat_ws(' ', t.problem, t.amount, t.currency, o.amount, o.currency)
FROM billing_banktransfer t LEFT JOIN billing_order o ON o.id = t.order_id
WHERE t.state = 'review'
"""
_REFUNDS = """
SELECT r.id::text, r.created_at, r.refund_id,
  CASE WHEN r.payment_id IS NULL THEN 'unknown' WHEN r.problem = '' THEN 'spent' ELSE r.problem END
FROM billing_refund r
WHERE (r.payment_id IS NULL OR r.taken < r.tokens OR NOT r.problem = '')
  AND r.returned_at IS NULL AND r.settled_at IS NULL
"""
_MONTHS = """
SELECT m.id::text, m.created_at, c.name, to_char(m.month, 'MM.YYYY') FROM billing_closedmonth m
JOIN accounts_company c ON c.id = m.company_id WHERE m.is_due
"""
_ALERTS = """
SELECT id::text, began_at, subject, rule FROM operator_admin_alert
WHERE ended_at IS NULL AND notices > 0
"""
_SAID = """
SELECT id::text, at, provider, code || CASE WHEN detail = '' THEN '' ELSE ': ' || detail END
FROM channels_provideralert
WHERE kind IN ('refused', 'warning', 'template') AND at > now() - interval '1 day'
"""
_APPROVALS = """
SELECT id::text, changed_at, provider, trim(name || ' ' || language) || ' — ' || status
FROM channels_vendorapproval
WHERE is_used AND status IN ('rejected', 'paused', 'disabled', 'missing')
"""
_INCIDENTS = """
SELECT id::text, began_at, title_ru, title_en FROM operator_admin_incident
WHERE resolved_at IS NULL AND began_at <= clock_timestamp()
"""


@dataclass(frozen=True, slots=True)
class Kind:
    title: StrOrPromise
    action: StrOrPromise  # the label of the link
    permission: str  # empty: everyone who may open the admin
    rows: str
    tone: str = "due"  # or bad


KINDS: dict[str, Kind] = {
    "incident": Kind(
        _("Open incident"), _("Post an update"), "operator_admin.change_incident", _INCIDENTS,
        "bad",
    ),
    "alert": Kind(
        _("Alert"), _("What to do"), "", _ALERTS, "bad"
    ),
    "approval": Kind(
        _("Template or sender"), _("See the account"), "channels.view_provideraccount",
        _APPROVALS, "bad",
    ),
    "vendor": Kind(
        _("A vendor says"), _("See the account"), "channels.view_provideraccount", _SAID
    ),
    "payment": Kind(
        _("Payment to look at"), _("Settle"), "billing.view_payment", _PAYMENTS, "bad"
    ),
    "transfer": Kind(
        _("Bank transfer to look at"), _("Settle"), "billing.view_banktransfer", _TRANSFERS, "bad"
    ),
    "refund": Kind(
        _("Refund or dispute"), _("Settle"), "billing.view_refund", _REFUNDS, "bad"
    ),
    "report": Kind(
        _("Link reported"), _("Review the report"), "links.view_report", _REPORTS, "bad"
    ),
    "company": Kind(
        _("Company to approve"), _("Review and approve"), "accounts.change_company", _COMPANIES
    ),
    "month": Kind(
        _("Month without documents"), _("See the month"), "billing.view_closedmonth", _MONTHS
    ),
}  # fmt: skip
