"""Vendors, and accounts that are bound to a message centre."""

from collections.abc import Iterator
from typing import Any

import pytest

from channels.providers.smpp.provider import Smpp
from tests.channels.providers.centre import Bound, Centre, Kept, account
from tests.channels.providers.finding import http_providers
from tests.channels.providers.vendors import VENDORS, Vendor
from tests.stack.programs import wait_until


def is_signing(name: str) -> bool:
    return name in VENDORS and bool(VENDORS[name].webhook_body)


@pytest.fixture(params=sorted(http_providers()))
def vendor(request: pytest.FixtureRequest) -> Vendor:
    assert request.param in VENDORS, "a provider needs an entry in vendors.py"
    return VENDORS[request.param]


@pytest.fixture(params=sorted(name for name in http_providers() if is_signing(name)))
def signing(request: pytest.FixtureRequest) -> Vendor:
    """A vendor that signs its calls of our webhook."""
    return VENDORS[request.param]


@pytest.fixture
def kept() -> Kept:
    return Kept()


@pytest.fixture
def bound(centre: Centre, kept: Kept) -> Iterator[Bound]:
    """Makes an account that is bound to the centre."""
    made: list[Smpp] = []

    def bind(**changes: Any) -> Smpp:
        smpp = account(centre.port, **changes)
        made.append(smpp)
        smpp.start(store=kept, on_open=lambda: None)
        wait_until(lambda: smpp.is_open and centre.esme is not None)
        return smpp

    yield bind
    for smpp in made:
        smpp.stop()
