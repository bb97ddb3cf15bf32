"""Template filters for amounts and transfers."""

from functools import partial

from django import template

from billing.gateways import registry
from billing.models import Package, Transfer
from billing.orders.prices import TokenPrice
from billing.wallet import amounts, statement
from cabinet.forms import grouped
from catalogue.ids import public_id

register = template.Library()
register.filter("money", amounts.money)
register.filter("each", amounts.unit_price)
register.filter("way", registry.title)
register.filter("gateway_note", registry.payer_note)
register.filter("message_id", partial(public_id, "msg"))


@register.filter
def worth(tokens: int | None, price: TokenPrice | None) -> str:
    """The worth as «≈ 32,00 ₽»; empty without a price or tokens."""
    if not tokens or price is None:
        return ""
    return f"≈\u00a0{amounts.money(price.of(tokens), price.currency)}"


@register.filter
def each_costs(package: Package) -> str:
    return amounts.unit_price(package.price / package.tokens, package.currency)


@register.filter
def signed(transfer: Transfer) -> str:
    """The signed amount, +1 000 or −16; transfers within the balance have no sign."""
    change = statement.balance_change(transfer.kind, transfer.amount)
    sign = {True: "+", False: "\u2212"}[change > 0] if change else ""
    return sign + grouped(transfer.amount)


@register.filter
def order_id(key: str) -> str:
    """The public id of the top-up in a transfer's key."""
    return f"top_{key.partition(':')[2]}"
