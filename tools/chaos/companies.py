"""Creates the companies before the load, with the service's own models."""

from collections.abc import Sequence

from accounts.models import GuardMode
from billing.models import BillingProfile
from catalogue.channels import BY_NAME
from channels.routing.stored_rules import StoredRule
from tools.chaos.plan import CHAINS, Speed
from tools.demo import demo_companies
from tools.stack import seed
from tools.stack.stack import Account


def create_companies(tokens: Sequence[int], speed: Speed, *, is_smart: bool) -> list[Account]:
    """One company for each amount of tokens; some fall back."""
    accounts = []
    for number, amount in enumerate(tokens):
        chain = CHAINS.get(number, [])
        account = seed.company(
            f"Company {number}",
            tokens=amount,
            falls_back=bool(chain),
            fallback_chain=chain,
            patience=dict.fromkeys(BY_NAME, speed.patience),
            policy=[StoredRule(smart=True, channels=chain).stored()] if is_smart and chain else [],
            guard_mode=GuardMode.WATCH,  # many of these codes are never entered
        )
        accounts.append(account)
    return accounts


def create_payer() -> Account:
    """A company with billing details that only buys tokens, and prices for them."""
    demo_companies.set_prices()
    account = seed.company("Payer", tokens=1)
    BillingProfile.objects.create(company_id=account.company_id, **demo_companies.BUYER)
    return account
