"""Endpoints from before an address could be there only once."""

from importlib import import_module

import pytest
from django.db import connection
from django.utils import timezone

from accounts.models import Company, Endpoint, Mode
from tests.factories import CompanyFactory, EndpointFactory

URL = "https://receiver.example.com/kvitok"
MIGRATION = import_module("accounts.migrations.0005_endpoint_once")


@pytest.fixture
def company(db: None) -> Company:
    """As it could be before."""
    with connection.cursor() as cursor:
        cursor.execute("DROP INDEX endpoint_once")
    return CompanyFactory.create()


def test_of_the_same_the_oldest_that_is_on_is_kept(company: Company) -> None:
    EndpointFactory.create(company=company, url=URL, disabled_at=timezone.now())
    oldest, _ = EndpointFactory.create_batch(2, company=company, url=URL)
    others = [
        EndpointFactory.create(company=company, url=URL, mode=Mode.TEST),
        EndpointFactory.create(company=company),
        EndpointFactory.create(url=URL),
    ]

    with connection.cursor() as cursor:
        cursor.execute(MIGRATION.KEEP_ONE)

    assert set(Endpoint.objects.filter(deleted_at=None)) == {oldest, *others}
