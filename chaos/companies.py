"""The companies that send: made before the load, by way of the service's own models."""

from collections.abc import Sequence

from django.db import connections
from django.db.backends.postgresql.base import DatabaseWrapper

from billing import ledger
from chaos.client import Account
from tests.factories import ApiKeyFactory, CompanyFactory


def found(tokens: Sequence[int]) -> list[Account]:
    """One company for each amount of tokens, with a live key."""
    accounts = []
    for number, amount in enumerate(tokens):
        key = ApiKeyFactory.create(company=CompanyFactory.create(name=f"Company {number}"))
        ledger.grant(company=key.company, amount=amount, reason="chaos")
        accounts.append(Account(key.company.pk, key.plaintext))
    return accounts


def drop_connections() -> None:
    """This process's own: the server they lead to is going to be killed."""
    ours = connections["default"]
    if isinstance(ours, DatabaseWrapper):
        ours.close()
        ours.close_pool()
