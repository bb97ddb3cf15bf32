"""Top-ups and payments of the audit log in a person's words."""

import re
from decimal import Decimal

from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.audit.texts import declare_words
from accounts.cabinet.number_fields import grouped
from accounts.models import AuditEvent
from billing.models import Payment
from billing.wallet.amounts import money

AMOUNT = re.compile(r"(\d+(?:\.\d+)?) ([A-Z]{3})")
# What events held before they kept values: "2026-1: 1000 = 1900.00 RUB".
OLD_ORDER = re.compile(rf"(\S+): (\d+) = ({AMOUNT.pattern})")
INVOICE = re.compile(r"20\d\d-\d+")


def register() -> None:
    declare_words(_order, "order.created", "order.canceled", "order.confirmed")
    declare_words(_payment, "payment.recorded", "payment.accepted", "payment.settled")


def _order(event: AuditEvent) -> str:
    """«счёт 2026-1: 1 000 токенов, 1 900,00 ₽»"""
    if event.changes:
        number, tokens = event.subject, event.changes["tokens"][1]
        amount = event.changes["amount"][1]
    elif found := OLD_ORDER.fullmatch(event.subject):
        number, tokens, amount = found[1], int(found[2]), found[3]
    else:
        return event.subject
    bought = ngettext("%(n)s token", "%(n)s tokens", tokens) % {"n": grouped(tokens)}
    return f"{_named(number)}: {bought}, {_in_money(amount)}"


def _payment(event: AuditEvent) -> str:
    """«1 900,00 ₽, 2f5a-1» of "1900.00 RUB 2f5a-1", and what became of it."""
    amount, number = " ".join(event.subject.split()[:2]), event.subject.split()[2:]
    after = {name: new for name, (_old, new) in (event.changes or {}).items()}
    became = [str(Payment.Resolution(after["resolution"]).label)] if after.get("resolution") else []
    became += [str(after["note"])] if after.get("note") else []
    if tokens := after.get("tokens"):
        became.append(ngettext("%(n)s token", "%(n)s tokens", tokens) % {"n": grouped(tokens)})
    return ", ".join([_in_money(amount), *number, *became])


def _named(number: str) -> str:
    if INVOICE.fullmatch(number):
        return _("invoice %(number)s") % {"number": number}
    return _("top-up %(id)s") % {"id": number}


def _in_money(text: str) -> str:
    found = AMOUNT.fullmatch(text)
    return money(Decimal(found[1]), found[2]) if found else text
