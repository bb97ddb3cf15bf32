from collections.abc import Iterator

import pytest
from django.core.cache import cache


@pytest.fixture(autouse=True)
def fresh_rate_limits() -> Iterator[None]:
    """Sign-in is limited by address, and all tests come from one."""
    yield
    cache.clear()
