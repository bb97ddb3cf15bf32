"""Seed data of the rows: companies with keys and tokens, phones, verifications."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import count
from typing import Any

import psycopg
from django.conf import settings
from django.core.management import call_command

from accounts import key_issuing
from accounts.models import Company, GuardMode, Mode, User
from accounts.people import companies as company_service
from billing.budgets import budgets
from billing.models import Budget
from billing.wallet import ledger
from catalogue.ids import uuid7
from links.addresses.slugs import generate
from otp import codes
from tools.stack.stack import Account, drop_connections

TOKENS = 10**12
COMPANIES = 100
PURPOSE = "verification"
LENGTH = 6
ATTEMPTS = 5
WRONG = "000000"
SLUG = 8

_COPY = """
COPY otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length, max_attempts,
                       expires_at) FROM STDIN"""

_COPY_LINKS = """
COPY links_link (id, company_id, mode, slug, key, is_alias, url) FROM STDIN"""


def migrated(total: int = COMPANIES) -> list[Account]:
    """Companies in a migrated database, which is then ready to be copied."""
    call_command("migrate", verbosity=0)
    accounts = companies(total)
    drop_connections()  # a database that somebody is connected to cannot be copied
    return accounts


def companies(total: int = COMPANIES) -> list[Account]:
    """Made by the product's own services, in the database Django is connected to."""
    # Codes that nobody enters are an attack, and judged as one.
    return [company(f"Company {number}", guard_mode=GuardMode.OFF) for number in range(total)]


def company(name: str, *, tokens: int = TOKENS, **fields: Any) -> Account:
    """An approved company with a live key, which writes to every country without a budget."""
    user, _ = User.objects.get_or_create(email="tools@example.com")
    created = company_service.sign_up_company(user=user, name=name)
    fields = {"status": Company.Status.APPROVED, "all_countries": True} | fields
    Company.objects.filter(pk=created.pk).update(**fields)
    created.refresh_from_db()
    ledger.grant(company=created, amount=tokens, reason="tools")
    lift_budgets(created)
    key, plaintext = key_issuing.create_api_key(
        company=created, user=user, mode=Mode.LIVE, name="tools"
    )
    _client_key, for_clients = key_issuing.create_api_key(
        company=created, user=user, mode=Mode.LIVE, name="clients", purpose=PURPOSE
    )
    return Account(created.pk, key.pk, plaintext, for_clients)


def lift_budgets(company: Company) -> None:
    """Sets the largest ones: a fast machine sends more than the usual ones allow."""
    largest = settings.MAX_BUDGET
    budgets.set_fixed(company=company, tokens={Budget.DAY: largest, Budget.ANY: largest}, user=None)


def links(store: psycopg.Connection, account: Account, total: int, *, url: str) -> list[str]:
    """New links of this company's, by their slugs."""
    slugs = [generate(SLUG) for _ in range(total)]
    with store.cursor() as cursor, cursor.copy(_COPY_LINKS) as copy:
        for slug in slugs:
            copy.write_row((uuid7(), account.company_id, "live", slug, slug, False, url))
    return slugs


class Phones:
    """Unused phone numbers, in ascending order."""

    def __init__(self) -> None:
        self._numbers = count(160_000_000)

    def take(self, total: int) -> list[str]:
        return [f"+79{next(self._numbers):09d}" for _ in range(total)]


@dataclass(frozen=True, slots=True)
class Guess:
    """A code to be checked: the statement that checks codes compares `mac`."""

    account: int  # its place in the list of accounts
    phone: str
    code: str
    mac: bytes


def verifications(
    store: psycopg.Connection, accounts: Sequence[Account], phones: Sequence[str]
) -> list[Guess]:
    """A live verification for each phone and one guess at each code, right and wrong in turn."""
    (expires_at,) = store.execute("SELECT now() + interval '1 hour'").fetchone() or (None,)
    guesses, key_id = [], codes.current_key()
    with store.cursor() as cursor, cursor.copy(_COPY) as copy:
        for number, phone in enumerate(phones):
            index, is_correct, verification_id = number % len(accounts), number % 2 == 0, uuid7()
            account, code = (
                accounts[index],
                codes.derive(verification_id, key_id=key_id, length=LENGTH),
            )
            scope = (verification_id, account.company_id, "live", phone, PURPOSE)
            mac = _mac(account, phone, code)
            copy.write_row((*scope, mac, key_id, LENGTH, ATTEMPTS, expires_at))
            guess = code if is_correct else WRONG
            guesses.append(Guess(index, phone, guess, _mac(account, phone, guess)))
    return guesses


def _mac(account: Account, phone: str, code: str) -> bytes:
    return codes.mac(
        key_id=codes.current_key(),
        company_id=account.company_id,
        mode="live",
        phone=phone,
        purpose=PURPOSE,
        code=code,
    )
