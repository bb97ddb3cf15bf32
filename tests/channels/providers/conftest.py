import importlib
import pkgutil
from collections.abc import Iterator

import pytest
import responses

from channels import providers
from channels.providers.http import HttpProvider
from tests.channels.providers.vendors import VENDORS, Vendor


def http_providers() -> set[str]:
    """Every account that is reached over HTTP: its module in `channels/providers` is enough."""
    for module in pkgutil.iter_modules(providers.__path__):
        importlib.import_module(f"{providers.__name__}.{module.name}")
    return {one.name for one in HttpProvider.__subclasses__()}


def is_signing(name: str) -> bool:
    return name in VENDORS and bool(VENDORS[name].told)


@pytest.fixture(params=sorted(http_providers()))
def vendor(request: pytest.FixtureRequest) -> Vendor:
    assert request.param in VENDORS, "a provider needs an entry in vendors.py"
    return VENDORS[request.param]


@pytest.fixture(params=sorted(name for name in http_providers() if is_signing(name)))
def signing(request: pytest.FixtureRequest) -> Vendor:
    """One that calls us, and signs what it says."""
    return VENDORS[request.param]


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock
