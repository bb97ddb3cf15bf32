"""Migrations that move data, there and back."""

from collections.abc import Iterator

import pytest
from django.db import connection
from django.db.migrations.executor import MigrationExecutor

from accounts.models import Company
from tests.factories import CompanyFactory


def migrate(name: str) -> None:
    MigrationExecutor(connection).migrate([("accounts", name)])


@pytest.fixture
def _migrated_again() -> Iterator[None]:
    yield
    executor = MigrationExecutor(connection)
    executor.migrate(executor.loader.graph.leaf_nodes("accounts"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("_migrated_again")
def test_patience_by_channel_keeps_what_companies_chose() -> None:
    chosen = CompanyFactory.create(patience={"whatsapp": 45, "sms": 600})
    CompanyFactory.create()

    migrate("0002_declared_channels")
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT patience_whatsapp, patience_telegram, patience_sms FROM accounts_company"
            " ORDER BY id"
        )
        columns = cursor.fetchall()
    migrate("0003_patience_by_channel")

    assert columns == [(45, None, 600), (None, None, None)]
    patience = Company.objects.order_by("id").values_list("pk", "patience")
    assert list(patience) == [(chosen.pk, {"whatsapp": 45, "sms": 600}), (chosen.pk + 1, {})]
