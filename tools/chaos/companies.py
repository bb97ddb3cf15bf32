"""Creates the companies before the load, with the service's own models."""

from collections.abc import Sequence

from accounts.models import GuardMode
from billing.models import BillingProfile
from billing.wallet import ledger
from catalogue.channels import BY_NAME
from channels.routing.policy_rules import StoredRule
from tests.factories import ApiKeyFactory, CompanyFactory, SellerFactory, TariffFactory
from tools.chaos.client import Account
from tools.chaos.plan import CHAINS, Speed
from tools.stack.seed import lift_budgets


def create_companies(tokens: Sequence[int], speed: Speed, *, is_smart: bool) -> list[Account]:
    """One company for each amount of tokens, with a live key; some fall back."""
    accounts = []
    for number, amount in enumerate(tokens):
        chain = CHAINS.get(number, [])
        company = CompanyFactory.create(
            name=f"Company {number}",
            all_countries=True,
            falls_back=bool(chain),
            fallback_chain=chain,
            patience=dict.fromkeys(BY_NAME, speed.patience),
            policy=[StoredRule(smart=True, channels=chain).stored()] if is_smart and chain else [],
            guard_mode=GuardMode.WATCH,  # many of these codes are never entered
        )
        key = ApiKeyFactory.create(company=company)
        ledger.grant(company=key.company, amount=amount, reason="chaos")
        lift_budgets(key.company)
        accounts.append(Account(key.company.pk, key.plaintext))
    return accounts


def create_payer() -> Account:
    """A company with requisites that buys tokens and sends nothing, and somebody who sells them."""
    SellerFactory.create()
    TariffFactory.create()
    company = CompanyFactory.create(name="Payer")
    BillingProfile.objects.create(
        company=company, legal_name="ООО «Ромашка»", inn="7800000002", kpp="780001001"
    )
    return Account(company.pk, ApiKeyFactory.create(company=company).plaintext)
