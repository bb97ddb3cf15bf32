"""What a token has cost a company, so that pages can say money beside tokens.

An estimate for reading, never for books: which payment a token came from is settled by the closing
of the month (`billing.documents.lots`).
"""

from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from billing.models import Order


@dataclass(frozen=True, slots=True)
class TokenPrice:
    """The price of one token in a currency; of an order, so it may have many digits."""

    amount: Decimal
    currency: str

    def of(self, tokens: int) -> Decimal:
        """To the hundredth."""
        return (self.amount * tokens).quantize(Decimal("0.01"), ROUND_HALF_UP)


def last_paid(company_id: int) -> TokenPrice | None:
    """By the newest order that was paid; None for a company that has not paid yet."""
    paid = Order.objects.of(company_id).filter(state=Order.State.PAID)
    newest = paid.order_by("-created_at", "-id").only("tokens", "amount", "currency").first()
    return TokenPrice(newest.amount / newest.tokens, newest.currency) if newest else None
