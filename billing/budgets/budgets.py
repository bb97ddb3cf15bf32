"""Reads, sets and explains a company's spending limits per day and, by country, per hour.

The statement that holds a message's tokens enforces them: `billing.wallet.holds`.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import Any, NamedTuple

from django.conf import settings
from django.db import transaction
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record
from accounts.keys.api_keys import evict_keys
from accounts.keys.principal import Budgets
from accounts.models import Company, User
from billing.budgets import key_limits, sql
from billing.budgets.sql import BudgetUsage
from billing.models import Budget
from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column, fetch_value, select, select_one

NO_BUDGET = (None, None)
UNKNOWN = Budget.UNKNOWN
BATCH_SIZE = 500  # companies that one transaction of `update_usual` locks
# Separate statement: after waiting for the company's row, a subquery of the same statement would
# still read the old budgets.
_LOCK = "SELECT 1 FROM accounts_company WHERE id = ANY(%s) ORDER BY id FOR NO KEY UPDATE"


def params(budgets: Budgets, country: str, key_limit: int | None = None) -> dict[str, Any]:
    """The parameters by which `hold_wallet.sql` checks a send to this country by this key."""
    country = country or Budget.UNKNOWN
    fixed_any = budgets.get(Budget.ANY, NO_BUDGET)[0]
    floor = settings.BUDGET_COUNTRY_HOUR if fixed_any is None else fixed_any
    return {
        "country": country,
        "time_zone": settings.TIME_ZONE,
        "day_budget": _effective(budgets.get(Budget.DAY, NO_BUDGET), settings.BUDGET_DAY),
        "hour_budget": _effective(budgets.get(country, NO_BUDGET), floor),
        "key_limit": sql.NO_LIMIT if key_limit is None else key_limit,
    }


def _effective(budget: tuple[int | None, int | None], floor: int) -> int:
    tokens, company_floor = budget
    return max(company_floor or 0, floor) if tokens is None else tokens


class KeyLimit(NamedTuple):
    """A key's daily spending limit, as read by the statement that refused."""

    key_id: int  # 0: no key
    tokens: int | None


NO_KEY = KeyLimit(0, None)

_SQL = sql_files.read_several(
    "billing/budgets/budgets.sql",
    period=sql.PERIOD,
    day_used=sql.DAY_USED,
    day_ends=sql.DAY_ENDS,
    hour_ends=sql.HOUR_ENDS,
    key_used=sql.key_used("%(api_key)s::text"),
    hour_used=sql.hour_used("%(country)s::text"),
    hour_used_there=sql.hour_used("listed.country"),
    effective_budgets=sql.effective_budgets("%(company_id)s", "listed.country"),
)


class _UsageNow(NamedTuple):
    available: int
    day_used: int
    day_ends: datetime
    key_used: int
    hour_used: int
    hour_ends: datetime
    now: datetime


def refusal(
    company_id: int, *, budgets: Budgets, country: str, price: int, key: KeyLimit = NO_KEY
) -> DomainError | None:
    """The error of a send that the wallet, a budget or the key's limit refused.

    `budgets` are those that the refusing statement read. Returns None if the wallet would pay now,
    because tokens were released in the meantime.
    """
    values = params(budgets, country)
    scope = {"company_id": company_id, "api_key": str(key.key_id)}
    row = select_one(_UsageNow, _SQL["usage_now"], values | scope)
    available = row.available if row else 0
    if row is None or available < price:
        return DomainError(Error.INSUFFICIENT_TOKENS, required=price, available=available)
    day = BudgetUsage("", row.day_used, values["day_budget"], row.day_ends)
    hour = BudgetUsage(values["country"], row.hour_used, values["hour_budget"], row.hour_ends)
    for use in (day, hour):
        if use.tokens < price:
            return _below_price(use, price)
    for use in (day, hour):
        if use.used + price > use.tokens:
            return use.used_up(_used_up_message(use), _limit(use), row.now)
    if key.tokens is not None and row.key_used + price > key.tokens:
        use = BudgetUsage("", row.key_used, key.tokens, row.day_ends)
        return key_limits.refusal(key.key_id, use, price=price, now=row.now)
    return None


def _below_price(use: BudgetUsage, price: int) -> DomainError:
    """The error of a send whose price exceeds the whole budget; without a time to wait."""
    period = (
        format_lazy(_("an hour in {country}"), country=use.country) if use.country else _("the day")
    )
    text = format_lazy(
        _(
            "The company's budget for {period} is below the price of one message: {tokens} tokens, "
            "the price is {price}. Waiting will not help: raise it in the cabinet, Settings → "
            "Budgets"
        ),
        period=period,
        tokens=use.tokens,
        price=price,
    )
    return DomainError(Error.SEND_LIMIT, message=text, limit=_limit(use))


def _limit(use: BudgetUsage) -> dict[str, str | int]:
    kind = "budget_country_hour" if use.country else "budget_day"
    country = {"country": use.country} if use.country else {}
    return {"kind": kind, **country, "tokens": use.tokens}


def _used_up_message(use: BudgetUsage) -> StrOrPromise:
    if use.country:
        return format_lazy(
            _(
                "The company's budget for an hour in {country} is used up: {tokens} tokens. "
                "Raise it in the cabinet, Settings → Budgets"
            ),
            country=use.country,
            tokens=use.tokens,
        )
    return format_lazy(
        _(
            "The company's budget for the day is used up: {tokens} tokens. Raise it in the "
            "cabinet, Settings → Budgets"
        ),
        tokens=use.tokens,
    )


def usage(company_id: int, countries: list[str]) -> list[BudgetUsage]:
    """Usage of the day, and of each country that is listed, in use or has a budget."""
    values = {"company_id": company_id, "countries": countries, **sql.floors()}
    return select(BudgetUsage, _SQL["usage_by_country"], values)


def fixed_for_other_countries(company_id: int) -> int | None:
    """The hourly budget set for countries without one of their own."""
    rows = Budget.objects.filter(company=company_id, country=Budget.ANY)
    return rows.values_list("fixed_tokens", flat=True).first()


@transaction.atomic
def set_fixed(
    *, company: Company, tokens: Mapping[str, int | None], user: User | None, ip: str | None = None
) -> list[str]:
    """Sets budgets by country (`Budget.DAY`, `Budget.ANY`); None restores the usual budget.

    Takes effect within two seconds in every process. Returns the countries whose budget changed.
    """
    Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    current = dict(Budget.objects.filter(company=company).values_list("country", "fixed_tokens"))
    changed = {country: value for country, value in tokens.items() if current.get(country) != value}
    if not changed:
        return []
    Budget.objects.bulk_create(
        [
            Budget(company=company, country=country, fixed_tokens=value)
            for country, value in changed.items()
        ],
        update_conflicts=True,
        unique_fields=["company", "country"],
        update_fields=["fixed_tokens"],
    )
    publish([company.pk])
    evict_keys(company)
    subject = ", ".join(
        f"{country or 'day'}: {_audit_value(current.get(country))} → {_audit_value(value)}"
        for country, value in changed.items()
    )
    values = {country or "day": [current.get(country), value] for country, value in changed.items()}
    record("budget.changed", subject, company=company, user=user, ip=ip, changes=values)
    return list(changed)


def update_usual() -> int:
    """Recalculates usual budgets from the stored days and publishes them; fixed ones stay.

    Returns the number of companies whose budgets changed.
    """
    ids = fetch_column(_SQL["companies"])
    return sum(
        _update_usual(ids[start : start + BATCH_SIZE]) for start in range(0, len(ids), BATCH_SIZE)
    )


@transaction.atomic
def _update_usual(company_ids: list[int]) -> int:
    """Recalculates the usual budgets of companies, which are locked first as in `set_fixed`."""
    execute(_LOCK, [company_ids])
    moved = fetch_value(_SQL["update"], {"ids": company_ids, "times": settings.BUDGET_USUAL[0]})
    publish(company_ids)
    return int(moved)


@transaction.atomic
def publish(company_ids: list[int]) -> None:
    """Copies budgets into the companies' rows, which keys load, so that a send needs no query."""
    execute(_LOCK, [company_ids])
    execute(_SQL["publish"], [company_ids])


def _audit_value(tokens: int | None) -> str:
    return "auto" if tokens is None else str(tokens)
