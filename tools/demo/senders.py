"""Made-up companies: a few send much, many send little, and none can be mistaken for a real one."""

import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import timedelta
from itertools import accumulate
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone

from accounts.models import ApiKey, Company, Endpoint, EventKind, GuardMode, Mode, User
from accounts.people import companies
from billing.wallet import ledger
from tools.demo.rows import KEY_ID, SHARES
from tools.stack.seed import lift_budgets

EMAIL = "demo@example.com"  # of the only member of every made-up company
NAME = "Demo {:05d}"
GIFT = 1_000  # tokens
SKEW = 1.05  # the share of the n-th company is 1 / n^SKEW: the first of a thousand has a seventh
LISTENING = 3  # one company in three has an endpoint for events
SHOWN = {"prefix": "kv_live_demo", "last4": "demo"}  # of its API key
LINKS, FALLBACKS = 12, 6  # of a hundred messages
# The area code 000 is nobody's: histories of this size need more numbers than the small demo's.
PHONES = {"phone_prefix": "+7000", "phone_digits": 7}
PER_PHONE = 4  # messages


@dataclass(frozen=True, slots=True)
class Senders:
    """Who sends, and what share of the messages: `weights` are the upper bounds of all but the
    last one's share.
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
            "shares": SHARES,
            "short_url": settings.SHORT_URL,
            "time_zone": settings.TIME_ZONE,
            "anonymised_before": now - timedelta(days=settings.PHONE_RETENTION),
            "raw_since": now - timedelta(days=settings.RAW_RETENTION),
        }


def real_companies() -> QuerySet[Company]:
    """Those that somebody other than a demo made."""
    return Company.objects.exclude(members__user__email=EMAIL)


def made_up(many: int, *, messages: int) -> Senders:
    """The first so many made-up companies; makes those that are missing."""
    user = User.objects.filter(email=EMAIL).first()
    user = user or User.objects.create_user(email=EMAIL, name="Demo")
    made = [_company(user, NAME.format(n), listens=n % LISTENING == 0) for n in range(many)]
    shares = [1 / (n + 1) ** SKEW for n in range(many)]
    bounds = [upper / sum(shares) for upper in accumulate(shares)]
    return Senders(
        company_ids=[company.pk for company in made],
        key_ids=[company.api_keys.values_list("pk", flat=True)[0] for company in made],
        endpoints=[_endpoint(company) for company in made],
        weights=bounds[:-1],
        links=LINKS,
        fallbacks=FALLBACKS,
        phones=PHONES | {"phones": max(1, min(messages // PER_PHONE, 10**7))},
    )


@transaction.atomic
def _company(user: User, name: str, *, listens: bool) -> Company:
    company = Company.objects.of(user).filter(name=name).first()
    if company is not None:
        return company
    company = companies.sign_up_company(user=user, name=name)
    Company.objects.filter(pk=company.pk).update(
        status=Company.Status.APPROVED, guard_mode=GuardMode.WATCH
    )
    lift_budgets(company)
    ledger.grant(company=company, amount=GIFT, reason="demo")
    # Rows alone: the services would send e-mails about them. Nobody knows the key's secret.
    ApiKey.objects.create(
        company=company,
        created_by=user,
        mode=Mode.LIVE,
        name="demo",
        digest=secrets.token_bytes(32),
        **SHOWN,
    )
    if listens:
        _listen(company)
    return company


def _listen(company: Company) -> None:
    """Disabled, so that nothing is ever called."""
    Endpoint.objects.create(
        company=company,
        mode=Mode.LIVE,
        url="https://example.com/events",
        kinds=EventKind.values,
        key_id=next(iter(settings.WEBHOOK_KEYS)),
        disabled_at=timezone.now(),
        disabled_reason=Endpoint.Reason.PERSON,
    )


def _endpoint(company: Company) -> UUID | None:
    return Endpoint.objects.filter(company=company).values_list("pk", flat=True).first()
