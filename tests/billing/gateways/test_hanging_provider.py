"""A provider that hangs leaves a process its database connections and its other threads."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from django.db import connection
from pytest_django import Settings

from billing.gateways import registry
from billing.gateways.base import GatewayError
from billing.gateways.declarations import GATEWAYS
from billing.gateways.http import MAX_CALLS, ProviderApi
from tests.billing.gateways.vendors import SETTINGS

NOBODY = "http://127.0.0.1:1"  # a port where nobody listens


@pytest.fixture(autouse=True)
def unreachable(settings: Settings) -> Iterator[None]:
    accounts = {name: row | {"url": NOBODY} for name, row in SETTINGS["GATEWAY_ACCOUNTS"].items()}
    settings.PAYMENT_GATEWAYS = list(accounts)
    settings.GATEWAY_ACCOUNTS = accounts
    registry.forget_settings()
    yield
    registry.forget_settings()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("name", [row.name for row in GATEWAYS.values() if row.url])
def test_call_holds_no_database_connection(name: str) -> None:
    gateway = registry.find(name)
    assert gateway is not None
    connection.ensure_connection()

    with pytest.raises(GatewayError):
        gateway.poll("pay-1")

    assert connection.connection is None


def test_concurrent_calls_are_limited() -> None:
    api = ProviderApi(NOBODY, "")
    with ExitStack() as calls:
        for _ in range(MAX_CALLS):
            calls.enter_context(api.connections.one_call())
        with pytest.raises(GatewayError, match="TooManyCalls"):
            api.get("/")

    with pytest.raises(GatewayError, match="Connection"):
        api.get("/")
