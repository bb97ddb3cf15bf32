"""The `grant_tokens` command gives tokens and takes them back."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command

from billing.models import Transfer
from billing.wallet import ledger
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db


def grant(company: object, tokens: object, reason: str = "gift") -> str:
    out = StringIO()
    call_command("grant_tokens", str(company), "--reason", reason, "--", str(tokens), stdout=out)
    return out.getvalue()


def test_tokens_are_given_by_id_or_by_name() -> None:
    company = CompanyFactory.create(name="Ромашка")

    assert grant(company.pk, 100) == "Ромашка: available 100, held 0\n"
    assert grant("Ромашка", 5) == "Ромашка: available 105, held 0\n"

    assert list(Transfer.objects.values_list("kind", "amount", "reason")) == [
        ("grant", 100, "gift"),
        ("grant", 5, "gift"),
    ]


def test_negative_number_takes_back() -> None:
    company = CompanyFactory.create()
    grant(company.pk, 100)

    assert grant(company.pk, -30).endswith("available 70, held 0\n")
    with pytest.raises(CommandError, match="fewer available tokens"):
        grant(company.pk, -71)

    assert ledger.balance(company.pk) == (70, 0)


@pytest.mark.parametrize(
    ("company", "tokens", "reason", "text"),
    [
        ("nobody", 1, "gift", "No company is called nobody"),
        ("999999", 1, "gift", "No company is called 999999"),
        ("9" * 30, 1, "gift", "No company is called"),
        ("²", 1, "gift", "No company is called ²"),
        ("Twins", 1, "gift", "Several companies are called Twins"),
        ("Only", 0, "gift", "other than 0"),
        ("Only", 1, "  ", "a reason"),
        ("Only", 10**30, "gift", "too long"),
        ("Only", 1, "x" * 201, "too long"),
        ("Only", "many", "gift", "invalid int value"),
    ],
)
def test_grant_names_the_invalid_argument(
    company: str, tokens: object, reason: str, text: str
) -> None:
    for name in ("Only", "Twins", "Twins"):
        CompanyFactory.create(name=name)

    with pytest.raises(CommandError, match=text):
        grant(company, tokens, reason)

    assert not Transfer.objects.exists()
