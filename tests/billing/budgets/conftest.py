"""A chain of channels for the tests of budgets."""

import pytest

from accounts.models import Company


@pytest.fixture
def chain(company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(
        falls_back=True, fallback_chain=["whatsapp", "sms"]
    )
