"""Vendors and a message centre of the test's own."""

from collections.abc import Iterator

import pytest
import responses

from tests.channels.providers.centre import Centre


@pytest.fixture
def wire() -> Iterator[responses.RequestsMock]:
    with responses.RequestsMock(assert_all_requests_are_fired=False) as mock:
        yield mock


@pytest.fixture
def centre() -> Iterator[Centre]:
    item = Centre()
    yield item
    item.close()
