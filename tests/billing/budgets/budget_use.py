"""Budgets of a company, and what they hold."""

from accounts.keys import api_keys
from accounts.models import Company
from billing.budgets import budgets
from billing.models import Budget, Wallet
from billing.wallet import ledger

PHONE = "+79161234567"
URL = "https://example.com/"


def set_budget(company: Company, **tokens: int | None) -> None:
    """Sets the budgets of the `day`, of `any` country, and of countries by their codes."""
    names = {"day": Budget.DAY, "any": Budget.ANY}
    own = {names.get(name, name): count for name, count in tokens.items()}
    budgets.set_fixed(company=company, tokens=own, user=None)
    api_keys.clear_cache()  # as two seconds would


def used(company: Company) -> tuple[int, dict[str, int]]:
    wallet = Wallet.objects.get(company=company)
    return wallet.day_tokens, wallet.hour_tokens


def held_tokens(company: Company) -> int:
    return ledger.balance(company.pk)[1]
