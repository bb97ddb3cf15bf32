"""Declarations of billing, which lower packages read: search, webhook events, audit log."""

import re
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.urls import reverse
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.models import AuditEvent, Member, Scope
from accounts.people.cabinet_access import can_read_settings, can_see_money
from api.calls import Field, integer
from billing.models import Document, Order, Payment
from billing.models.order import NUMBER
from billing.wallet.amounts import money
from billing.web.calls import ORDER
from billing.web.statement_csv import StatementCsv
from cabinet import csv_exports, search
from cabinet.forms import grouped
from cabinet.search import MAX_HITS, Hit, Page, Source
from catalogue.ids import parse_id
from webhooks import events
from webhooks.events import EventDeclaration, iso
from webhooks.models import EventKind

AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ([A-Z]{3})")
# Values of older events, such as "2026-1: 1000 = 1900.00 RUB".
OLD_ORDER = re.compile(rf"(\S+): (\d+) = ({AMOUNT.pattern})")
INVOICE = re.compile(r"20\d\d-\d+")


def _order_text(event: AuditEvent) -> str:
    """The text of an order: «счёт 2026-1: 1 000 токенов, 1 900,00 ₽»."""
    if event.changes:
        number = event.subject
        tokens = event.changes["tokens"][1]
        amount = event.changes["amount"][1]
    elif match := OLD_ORDER.fullmatch(event.subject):
        number = match[1]
        tokens = int(match[2])
        amount = match[3]
    else:
        return event.subject
    bought = ngettext("%(n)s token", "%(n)s tokens", tokens) % {"n": grouped(tokens)}
    return f"{_order_title(number)}: {bought}, {_as_money(amount)}"


def _payment_text(event: AuditEvent) -> str:
    """The text of a payment, «1 900,00 ₽, 2f5a-1» for "1900.00 RUB 2f5a-1", and its result."""
    amount = " ".join(event.subject.split()[:2])
    number = event.subject.split()[2:]
    after = {name: new for name, (_old, new) in (event.changes or {}).items()}
    notes = [str(Payment.Resolution(after["resolution"]).label)] if after.get("resolution") else []
    notes += [str(after["note"])] if after.get("note") else []
    if tokens := after.get("tokens"):
        notes.append(ngettext("%(n)s token", "%(n)s tokens", tokens) % {"n": grouped(tokens)})
    return ", ".join([_as_money(amount), *number, *notes])


def _order_title(number: str) -> str:
    if INVOICE.fullmatch(number):
        return gettext("invoice %(number)s") % {"number": number}
    return gettext("top-up %(id)s") % {"id": number}


def _as_money(text: str) -> str:
    match = AMOUNT.fullmatch(text)
    return money(Decimal(match[1]), match[2]) if match else text


PAGES = (
    Page("balance", _("Balance"), _("money, top up, pay, prices, tariffs, tokens"), can_see_money),
    Page("balance-statement", _("Statement"), _("spending, charges"), can_see_money),
    Page(
        "document-list",
        _("Documents"),
        _("closing documents, invoices, reconciliation act"),
        can_see_money,
    ),
    Page("balance-seals", _("Seals"), _("proof of the statement"), can_see_money),
    Page("balance-order-list", _("Top-ups"), _("payments, invoices, orders"), can_see_money),
    Page(
        "balance-profile", _("Billing details"), _("tax number, legal address, VAT"), can_see_money
    ),
    Page("budget-edit", _("Budgets"), _("limits of spending, caps"), can_read_settings),
)


def _find_orders(member: Member, text: str) -> list[Hit]:
    rows = Order.objects.for_company(member.company).named(text)
    return [_order_hit(order) for order in rows[:MAX_HITS]] if rows is not None else []


def _order_hit(order: Order) -> Hit:
    title = str(_("Invoice %(number)s") % {"number": order.number}) if order.number else str(order)
    detail = f"{order.amount} {order.currency} · {order.get_state_display()}"
    return Hit(title, reverse("balance-order", args=[order.public_id]), detail, is_exact=True)


def _find_documents(member: Member, text: str) -> list[Hit]:
    documents = Document.objects.for_company(member.company)
    if document_id := parse_id("doc", text.lower()):
        rows = documents.filter(pk=document_id)
    elif number := NUMBER.fullmatch(text):
        rows = documents.filter(year=int(number[1]), serial=int(number[2]))
    else:
        return []
    url = reverse("document-list")
    return [
        Hit(f"{row.get_kind_display()} {row.number}", url, f"{row.amount} {row.currency}", True)
        for row in rows[:MAX_HITS]
    ]


def _top_up_example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"top_{subject}",
        "status": "paid",
        "tokens": 1000,
        "amount": "1000.00",
        "currency": "RUB",
        "paid_at": iso(now),
    }


BALANCE_EVENT = EventDeclaration(
    "BalanceEvent",
    {EventKind.BALANCE_LOW: _("The balance fell below the threshold set in the settings.")},
    (
        Field("available", integer(0), _("Tokens available to spend when the event was created.")),
        Field("threshold", integer(0), _("The threshold set in the settings, in tokens.")),
    ),
    lambda _kind, _subject, _now: {"available": 96, "threshold": 100},
    Scope.BALANCE,
)
TOP_UP_EVENT = EventDeclaration(
    "TopUpEvent",
    {EventKind.TOP_UP_PAID: _("A top-up was paid and its tokens were credited.")},
    tuple(
        field
        for field in ORDER
        if field.name in {"id", "status", "tokens", "amount", "currency", "paid_at"}
    ),
    _top_up_example,
    Scope.BALANCE,
)


events.declare(BALANCE_EVENT, TOP_UP_EVENT)
csv_exports.register(StatementCsv())
search.register(
    PAGES,
    Source(_("Top-ups and invoices"), _find_orders, can_see_money),
    Source(_("Documents"), _find_documents, can_see_money),
)
audit.declare(
    {
        "order.created": _("asked for a top-up"),
        "order.canceled": _("cancelled a top-up"),
        "order.confirmed": _("confirmed a payment"),
    },
    describe=_order_text,
)
audit.declare(
    {
        "payment.recorded": _("recorded a payment that does not fit"),
        "payment.accepted": _("accepted a payment that differs"),
        "payment.settled": _("settled a payment manually"),
    },
    describe=_payment_text,
)
audit.declare(
    {
        "billing.changed": _("changed the billing details"),
        "budget.changed": _("changed the budgets"),
    },
    has_fields=True,
)
audit.declare(
    {
        "document.sent": _("sent a document by e-mail"),
        "method.saved": _("saved a payment method"),
        "method.removed": _("removed the payment method"),
        "auto_top_up.on": _("turned automatic top-ups on"),
        "auto_top_up.off": _("turned automatic top-ups off"),
        "auto_top_up.resumed": _("resumed automatic top-ups"),
        "refund.settled": _("settled a refund manually"),
        "transfer.assigned": _("credited a top-up with a bank transfer"),
        "transfer.refunded": _("took tokens back for a returned bank transfer"),
        "transfer.returned": _("returned a bank transfer to its payer"),
        "transfer.dismissed": _("marked a bank transfer as no top-up"),
        "key.limited": _("changed the limits of API keys"),
        "statement.exported": _("downloaded the statement"),
        "balance_alert.added": _("added a balance alert"),
        "balance_alert.removed": _("removed a balance alert"),
    }
)
audit.FIELD_LABELS |= {
    "day": _("Tokens per day, the whole company"),
    "low_balance": _("Low-balance alert below"),
    "legal_name": _("Legal name"),
    "inn": _("INN"),
    "kpp": _("KPP"),
    "address": _("Legal address"),
    "email": _("E-mail for documents"),
    "edo_id": _("Id in electronic document exchange"),
    "currency": _("Currency of prices"),
    "documents_language": _("Language of documents"),
}
