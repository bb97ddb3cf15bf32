"""Made-up companies: a few send much, many send little, and top-ups pay for it."""

import secrets
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date, datetime, timedelta
from decimal import Decimal
from itertools import accumulate, groupby, pairwise
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import connection, transaction
from django.db.backends.utils import CursorWrapper
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import ApiKey, Company, GuardMode, Mode, User
from accounts.people import companies
from billing.models import Order, Payment
from billing.wallet import ledger
from catalogue.ids import first_id_at
from parsing.days import start_of
from tools.demo import KEY_ID, past_transfers
from tools.stack.seed import lift_budgets
from webhooks.models import Endpoint, EventKind

EMAIL = "demo@example.com"  # of the only member of every made-up company
NAME = "Demo {:05d}"
GIFT = 1_000  # tokens
SKEW = 1.05  # the share of the n-th company is 1 / n^SKEW: the first of a thousand has a seventh
LISTENING = 3  # one company in three has an endpoint for events
SHOWN = {"prefix": "kv_live_demo", "last4": "demo"}  # of its API key
LINKS, FALLBACKS = 12, 6  # of a hundred messages
# Nobody has the area code 000: histories of this size need more numbers than the small demo's.
PHONES = {"phone_prefix": "+7000", "phone_digits": 7}
PER_PHONE = 4  # messages


@dataclass(frozen=True, slots=True)
class Senders:
    """The senders and their shares of the messages: `weights` are the upper bounds of all but the
    last share.
    """

    company_ids: Sequence[int]
    key_ids: Sequence[int | None]
    endpoints: Sequence[UUID | None]
    weights: Sequence[float] = ()
    links: int = 0  # of a hundred messages
    fallbacks: int = 0
    phones: Mapping[str, Any] = field(
        # a range that only demo data uses
        default_factory=lambda: {"phone_prefix": "+7999000", "phone_digits": 4, "phones": 10_000}
    )

    def params(self) -> dict[str, Any]:
        now = timezone.now()
        return {
            "company_ids": list(self.company_ids),
            "key_ids": list(self.key_ids),
            "endpoints": list(self.endpoints),
            "weights": list(self.weights),
            "links": self.links,
            "fallbacks": self.fallbacks,
            **self.phones,
            "key": KEY_ID,
            "channels": list(settings.PRICES),
            "prices": list(settings.PRICES.values()),
            "shares": [60, 85],  # of a hundred messages by the channels, added up
            "short_url": settings.SHORT_URL,
            "time_zone": settings.TIME_ZONE,
            "anonymised_before": now - timedelta(days=settings.PHONE_RETENTION),
            "raw_since": now - timedelta(days=settings.RAW_RETENTION),
        }


def real_companies() -> QuerySet[Company]:
    """Companies that no demo made."""
    return Company.objects.exclude(members__user__email=EMAIL)


def made_up(many: int, *, messages: int) -> Senders:
    """The first `many` made-up companies; creates the missing ones."""
    user = User.objects.filter(email=EMAIL).first()
    user = user or User.objects.create_user(email=EMAIL, name="Demo")
    companies = [_company(user, NAME.format(n), listens=n % LISTENING == 0) for n in range(many)]
    shares = [1 / (n + 1) ** SKEW for n in range(many)]
    bounds = [upper / sum(shares) for upper in accumulate(shares)]
    return Senders(
        company_ids=[company.pk for company in companies],
        key_ids=[company.api_keys.values_list("pk", flat=True)[0] for company in companies],
        endpoints=[
            Endpoint.objects.filter(company=company).values_list("pk", flat=True).first()
            for company in companies
        ],
        weights=bounds[:-1],
        links=LINKS,
        fallbacks=FALLBACKS,
        phones=PHONES | {"phones": max(1, min(messages // PER_PHONE, 10**7))},
    )


@transaction.atomic
def _company(user: User, name: str, *, listens: bool) -> Company:
    company = Company.objects.for_user(user).filter(name=name).first()
    if company is not None:
        return company
    company = companies.sign_up_company(user=user, name=name)
    Company.objects.filter(pk=company.pk).update(
        status=Company.Status.APPROVED, guard_mode=GuardMode.WATCH
    )
    lift_budgets(company)
    ledger.grant(company=company, amount=GIFT, reason="demo")
    # Only rows: the services would send e-mails about them. Nobody knows the key's secret.
    ApiKey.objects.create(
        company=company,
        created_by=user,
        mode=Mode.LIVE,
        name="demo",
        digest=secrets.token_bytes(32),
        **SHOWN,
    )
    if listens:  # disabled, so that nothing is ever called
        Endpoint.objects.create(
            company=company,
            mode=Mode.LIVE,
            url="https://example.com/events",
            kinds=EventKind.values,
            key_id=next(iter(settings.WEBHOOK_KEYS)),
            disabled_at=timezone.now(),
            disabled_reason=Endpoint.Reason.PERSON,
        )
    return company


GATEWAY = "demo"  # none that could be asked about such a payment
TOKENS_PER_MESSAGE, SPARE = 6, 1_000  # more than a message costs on average
ROUND = 100
_PRICE = Decimal("1.90")
_TRANSFERS = """
SELECT company_id, 'top_up' AS kind, tokens AS amount,
  'top_up:' || replace(id::text, '-', '') AS key, NULL::uuid AS message_id,
  NULL::int AS hold, '' AS proof, '' AS reason, created_at
FROM billing_order WHERE id = ANY(%(orders)s)"""


@transaction.atomic
def buy(company_ids: Sequence[int], weights: Sequence[float], messages: Mapping[date, int]) -> None:
    """Buys for each month what its messages may cost, and an order in ten that nobody pays."""
    shares = [high - low for low, high in pairwise((0.0, *weights, 1.0))]
    paid, unpaid = [], []
    days = [day for day, count in messages.items() if count]
    for _month, its_days in groupby(days, key=lambda day: day.replace(day=1)):
        first, *other_days = its_days
        at, count = start_of(first), sum(messages[day] for day in (first, *other_days))
        for n, (company_id, share) in enumerate(zip(company_ids, shares, strict=True)):
            tokens = int(count * share * TOKENS_PER_MESSAGE) + SPARE
            paid.append(_order(company_id, at, tokens))
            if n % 10 == at.month % 10:
                unpaid.append(_order(company_id, at + timedelta(hours=3), tokens, is_paid=False))
    _store(paid, unpaid)


_SHORT = """
SELECT w.company_id, due.tokens - w.available, due.at FROM billing_wallet w JOIN (
  SELECT company_id, sum(COALESCE(first_price, 0) + price) AS tokens, min(at) AS at
  FROM demo_message GROUP BY company_id) AS due USING (company_id)
WHERE due.tokens > w.available"""


def cover(cursor: CursorWrapper) -> None:
    """Adds a top-up where the month's is used up: right before, as an automatic one would."""
    cursor.execute(_SHORT)
    short: list[tuple[int, int, datetime]] = cursor.fetchall()
    _store([_order(pk, at - timedelta(seconds=1), int(lack) + SPARE) for pk, lack, at in short])


def _order(company_id: int, at: datetime, tokens: int, *, is_paid: bool = True) -> Order:
    tokens = -(-tokens // ROUND) * ROUND
    paid = {"state": Order.State.PAID, "paid_at": at}
    fields: dict[str, Any] = paid if is_paid else {"state": Order.State.EXPIRED}
    return Order(
        id=UUID(int=first_id_at(at).int | secrets.randbits(62)),
        company_id=company_id,
        tokens=tokens,
        amount=tokens * _PRICE,
        currency="RUB",
        gateway=GATEWAY,
        payment_id="",
        created_at=at,
        expires_at=at + timedelta(hours=1),
        finished_at=at,
        **fields,
    )


def _store(paid: Sequence[Order], unpaid: Iterable[Order] = ()) -> None:
    Order.objects.bulk_create([*paid, *unpaid], batch_size=1000)
    payments = [
        Payment(
            gateway=GATEWAY,
            payment_id=f"demo-{order.pk.hex}",
            order=order,
            amount=order.amount,
            currency=order.currency,
            is_credited=True,
            created_at=order.created_at,
            settled_at=order.created_at,
        )
        for order in paid
    ]
    Payment.objects.bulk_create(payments, batch_size=1000)
    with connection.cursor() as cursor:
        past_transfers.book(cursor, _TRANSFERS, {"orders": [order.pk for order in paid]})
