"""Top-ups, invoices, documents and the pages of money as the cabinet's search finds them."""

import re

from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Member
from accounts.people.roles import can_read_settings, can_see_money
from accounts.search.sources import MOST_HITS, Hit, Page, Source, register_pages, register_source
from billing.models import Document, Order
from config.ids import parse_id

_NUMBER = re.compile(r"(?:№\s*)?(20\d\d)\s?[-–/]\s?(\d{1,9})", re.ASCII)
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


def register() -> None:
    register_pages(*PAGES)
    register_source(Source(_("Top-ups and invoices"), orders, can_see_money))
    register_source(Source(_("Documents"), documents, can_see_money))


def orders(member: Member, text: str) -> list[Hit]:
    own = Order.objects.of(member.company)
    if order_id := parse_id("top", text.lower()):
        rows = own.filter(pk=order_id)
    elif number := _NUMBER.fullmatch(text):
        rows = own.filter(invoice_year=int(number[1]), invoice_number=int(number[2]))
    else:
        return []
    return [_order_hit(order) for order in rows[:MOST_HITS]]


def _order_hit(order: Order) -> Hit:
    title = str(_("Invoice %(number)s") % {"number": order.number}) if order.number else str(order)
    detail = f"{order.amount} {order.currency} · {order.get_state_display()}"
    return Hit(title, reverse("balance-order", args=[order.public_id]), detail, is_exact=True)


def documents(member: Member, text: str) -> list[Hit]:
    own = Document.objects.of(member.company)
    if document_id := parse_id("doc", text.lower()):
        rows = own.filter(pk=document_id)
    elif number := _NUMBER.fullmatch(text):
        rows = own.filter(year=int(number[1]), serial=int(number[2]))
    else:
        return []
    url = reverse("document-list")
    return [
        Hit(f"{one.get_kind_display()} {one.number}", url, f"{one.amount} {one.currency}", True)
        for one in rows[:MOST_HITS]
    ]
