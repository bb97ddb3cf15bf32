"""The demo companies of `make run`, made once, and what they buy; `demo_json` keeps their keys."""

import secrets
import tomllib
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from allauth.account.models import EmailAddress
from django.conf import settings
from django.db import transaction
from django.utils import timezone

from accounts import key_issuing
from accounts.models import Company, GuardMode, Mode, User
from accounts.people import companies
from billing.gateways import registry
from billing.gateways.base import Gateway
from billing.gateways.invoice import Invoice
from billing.models import Order, Package, SealedDay, Seller, Tariff
from billing.orders import billing_profiles, orders, payments, prices
from billing.wallet import ledger
from compat.twilio.dialect import service_sid
from tools.demo import history
from tools.demo.senders import EMAIL
from tools.stack.seed import lift_budgets

_ON_SALE = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))
BUYER: dict[str, str] = _ON_SALE["buyer"]
PAID = "growth"
UNPAID = "start"


def sell(company: Company, user: User, tokens: int) -> None:
    """Leaves the company with exactly `tokens` available."""
    set_prices()
    billing_profiles.change(company=company, user=user, changes=BUYER)
    gateway = registry.find(Invoice.name)
    if gateway is not None:
        paid, today = _order(company, user, PAID, gateway), timezone.localdate()
        payments.confirm_bank_transfer(
            order=paid, amount=paid.amount, paid_on=today, reference="demo", user=user
        )
        _order(company, user, UNPAID, gateway)
    available, _held = ledger.balance(company.pk)
    ledger.grant(company=company, amount=tokens - available, reason="demo")


def set_prices() -> None:
    for position, (code, tokens, price) in enumerate(_ON_SALE["packages"]):
        values = {"tokens": tokens, "price": Decimal(price), "position": position}
        Package.objects.get_or_create(code=code, defaults=values)
    for tokens, price in _ON_SALE["steps"]:
        Tariff.objects.get_or_create(
            currency=settings.CURRENCY, tokens_from=tokens, defaults={"price": Decimal(price)}
        )
    # Since before the demo's history begins.
    since = timezone.localdate() - timedelta(days=100)
    Seller.objects.get_or_create(pk=1, defaults=_ON_SALE["seller"] | {"documents_since": since})


def _order(company: Company, user: User, package: str, gateway: Gateway) -> Order:
    quote = prices.quote_package(package)
    assert quote is not None  # noqa: S101 - put on sale above
    return orders.place(company=company, quote=quote, gateway=gateway, user=user)


COMPANY = "Демо"
EMPTY_COMPANY = "Демо без токенов"
TOKENS = 1_000_000
PURPOSE = "login"  # of the codes of its key for another service's client
HISTORY_MESSAGES = 900
HISTORY_DAYS = 28


@transaction.atomic
def sign_up_all() -> dict[str, Any]:
    """Keys are shown once, so a lost file needs new keys; the companies are reused."""
    user, password = _user()
    company, empty = _company(user, COMPANY), _company(user, EMPTY_COMPANY)
    if ledger.balance(company.pk) == (0, 0):
        sell(company, user, TOKENS)
    live_key = _key(company, user, Mode.LIVE)
    if SealedDay.last() is None and not history.is_filled(company):
        history.fill_company(company, messages=HISTORY_MESSAGES, days=HISTORY_DAYS)
        history.recount()
    return {
        "email": user.email,
        "password": password,
        "company": company.name,
        "live_key": live_key,
        "test_key": _key(company, user, Mode.TEST),
        "verify_key": _key(company, user, Mode.LIVE, purpose=PURPOSE),
        "twilio_service": service_sid(company.pk, Mode.LIVE, PURPOSE),
        "empty_key": _key(empty, user, Mode.LIVE),
    }


def _user() -> tuple[User, str]:
    password = secrets.token_urlsafe(12)
    user = User.objects.filter(email=EMAIL).first() or User(email=EMAIL, name="Demo")
    user.is_staff = user.is_superuser = True  # the demo's operator as well
    user.set_password(password)
    user.save()
    EmailAddress.objects.update_or_create(
        user=user, email=EMAIL, defaults={"verified": True, "primary": True}
    )
    return user, password


def _company(user: User, name: str) -> Company:
    company = Company.objects.filter(members__user=user, name=name).first()
    if company is None:
        company = companies.sign_up_company(user=user, name=name)
        # Demo keys send to any country without a budget, also codes that nobody enters.
        changes = {"all_countries": True, "guard_mode": GuardMode.WATCH}
        companies.change_settings(company=company, user=user, changes=changes)
        lift_budgets(company)
    return company


def _key(company: Company, user: User, mode: Mode, purpose: str = "") -> str:
    for old in company.api_keys.active().filter(name="demo", mode=mode, purpose=purpose):
        key_issuing.revoke_api_key(key=old, user=user)
    _row, plaintext = key_issuing.create_api_key(
        company=company, user=user, mode=mode, name="demo", purpose=purpose
    )
    return plaintext
