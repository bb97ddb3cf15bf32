"""Daily token limits of API keys.

The UPDATE of `billing.wallet.holds` counts each key's holds of today and enforces the limit
exactly, like the company's budgets. A hold that is released within the day frees its tokens.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from django.conf import settings
from django.db import transaction
from django.utils import timezone
from django.utils.dateformat import time_format
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.keys.api_keys import evict_keys
from accounts.models import ApiKey, Company, Mode, User
from billing.budgets import sql
from billing.budgets.sql import BudgetUsage
from catalogue.errors import DomainError, Error
from storage.statements import sql_files
from storage.statements.queries import select


@dataclass(frozen=True, slots=True)
class KeyUsage:
    """An active live key, and what it has spent today; `tokens` is None without a limit."""

    key_id: int
    name: str
    masked_key: str  # its first and last characters
    tokens: int | None
    used: int
    resets_at: datetime

    @property
    def label(self) -> str:
        return f"{self.name} {self.masked_key}"

    @property
    def left(self) -> int | None:
        return None if self.tokens is None else max(0, self.tokens - self.used)

    @property
    def percent(self) -> int:
        if self.tokens is None:
            return 0
        return min(100, self.used * 100 // self.tokens) if self.tokens else 100


_USAGE = sql_files.fill(
    sql_files.read("billing/budgets/key_usage.sql"),
    used=sql.key_used("api_key.id::text"),
    resets_at=sql.DAY_ENDS,
    period=sql.PERIOD,
)


def usage(company_id: int) -> list[KeyUsage]:
    """Usage of each active live key."""
    values: dict[str, str | int] = {
        "company_id": company_id,
        "mode": Mode.LIVE.value,
        "time_zone": settings.TIME_ZONE,
    }
    return select(KeyUsage, _USAGE, values)


@transaction.atomic
def set_limits(
    *, company: Company, tokens: Mapping[int, int | None], user: User | None, ip: str | None = None
) -> list[int]:
    """Sets limits by the key's id; None removes one.

    Takes effect within two seconds in every process. Returns the keys whose limit changed; other
    companies' keys stay unchanged.
    """
    keys = company.api_keys.filter(pk__in=tokens, mode=Mode.LIVE)
    changed = [
        key
        for key in keys.select_for_update(no_key=True).order_by("pk")
        if key.day_limit != tokens[key.pk]
    ]
    if not changed:
        return []
    subject = ", ".join(
        f"{key.name} {key}: {_audit_value(key.day_limit)} → {_audit_value(tokens[key.pk])}"
        for key in changed
    )
    for key in changed:
        key.day_limit = tokens[key.pk]
    ApiKey.objects.bulk_update(changed, ["day_limit"])
    record("key.limited", subject, company=company, user=user, ip=ip)
    evict_keys(company)
    return [key.pk for key in changed]


def _audit_value(tokens: int | None) -> str:
    return "—" if tokens is None else str(tokens)


def refusal(key_id: int, use: BudgetUsage, *, price: int, now: datetime) -> DomainError:
    """The refusal, with the key, its limit, its end, and who can lift it."""
    key = ApiKey.objects.get(pk=key_id)
    limit: dict[str, str | int] = {"kind": "key_day", "key": str(key), "tokens": use.tokens}
    if use.tokens < price:  # no time: waiting does not help
        text = _(
            "The limit of the key {key} is below the price of one message: {tokens} tokens a day, "
            "the price is {price}. Waiting will not help: an owner of the company can raise it in "
            "the cabinet, Settings → Budgets"
        )
        message = format_lazy(text, key=_quoted_name(key), tokens=use.tokens, price=price)
        return DomainError(Error.SEND_LIMIT, message=message, limit=limit)
    text = _(
        "The key {key} has used up its limit for the day: {tokens} tokens. It resets at {at} "
        "({zone}); an owner of the company can raise it in the cabinet, Settings → Budgets"
    )
    at = time_format(timezone.localtime(use.resets_at), "H:i")
    message = format_lazy(
        text, key=_quoted_name(key), tokens=use.tokens, at=at, zone=settings.TIME_ZONE
    )
    return use.used_up(message, limit, now)


def _quoted_name(key: ApiKey) -> str:
    return f"«{key.name}» ({key})"
