"""Vendors and a message centre of the test's own."""

from collections.abc import Iterator

import pytest

from tests.channels.providers.centre import Centre


@pytest.fixture
def centre() -> Iterator[Centre]:
    message_centre = Centre()
    yield message_centre
    message_centre.close()
