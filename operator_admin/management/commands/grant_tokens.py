from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError
from django.db import DataError, IntegrityError

from accounts.models import Company
from billing.wallet import ledger
from parsing.integers import parse_integer


class Command(BaseCommand):
    help = "Give a company tokens, or take some back with a negative number, for a reason."

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("company", help="its id, or its exact name")
        parser.add_argument("tokens", type=int)
        parser.add_argument("--reason", required=True)

    def handle(self, *args: Any, **options: Any) -> None:
        company = _company(options["company"])
        tokens = options["tokens"]
        reason = options["reason"].strip()
        if not tokens or not reason:
            raise CommandError("Give a number of tokens other than 0 and a reason.")
        try:
            if tokens > 0:
                ledger.grant(company=company, amount=tokens, reason=reason)
            else:
                ledger.withdraw(company=company, amount=-tokens, reason=reason)
        except IntegrityError:
            raise CommandError("The company has fewer available tokens than that.") from None
        except (DataError, OverflowError):
            raise CommandError("The number of tokens or the reason is too long.") from None
        available, held = ledger.balance(company.pk)
        self.stdout.write(f"{company}: available {available}, held {held}")


def _company(text: str) -> Company:
    matches = list(Company.objects.filter(pk=parse_integer(text) or 0))
    matches = matches or list(Company.objects.filter(name=text)[:2])
    if len(matches) != 1:
        raise CommandError(
            f"{'Several companies are' if matches else 'No company is'} called {text}"
        )
    return matches[0]
