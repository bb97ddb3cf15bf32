"""What migrations do with data, tried on the columns that they found."""

from importlib import import_module

import pytest
from django.db import connection

from tests.factories import CompanyFactory

patience = import_module("accounts.migrations.0003_patience_by_channel")
CHANNELS = ("whatsapp", "telegram", "sms")


@pytest.mark.django_db
def test_patience_by_channel_keeps_what_companies_chose() -> None:
    chosen = CompanyFactory.create(patience={"whatsapp": 45, "sms": 600})
    other = CompanyFactory.create()

    with connection.cursor() as cursor:
        for channel in CHANNELS:
            cursor.execute(f"ALTER TABLE accounts_company ADD patience_{channel} int")
        cursor.execute(patience.SPREAD)
        cursor.execute(
            "SELECT patience_whatsapp, patience_telegram, patience_sms FROM accounts_company"
            " ORDER BY id"
        )
        columns = cursor.fetchall()
        cursor.execute("UPDATE accounts_company SET patience = '{}'")
        cursor.execute(patience.COLLECT)

    assert columns == [(45, None, 600), (None, None, None)]
    for company, kept in [(chosen, {"whatsapp": 45, "sms": 600}), (other, {})]:
        company.refresh_from_db()
        assert company.patience == kept
