"""Vendors and a message centre of the test's own."""

from collections.abc import Iterator

import pytest

from tests.channels.providers.centre import Centre


@pytest.fixture
def centre() -> Iterator[Centre]:
    item = Centre()
    yield item
    item.close()
