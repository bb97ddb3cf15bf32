"""Starts and ends every test without clicks in any store."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from links.clicks import buffer as click_buffer
from storage.redis_client import redis_client
from tests.links.visiting import Ask, call, view, without_redis


@pytest.fixture(params=[call, view], ids=["callable", "view"])
def ask(request: pytest.FixtureRequest) -> Ask:
    chosen: Ask = request.param
    return chosen


@pytest.fixture(autouse=True)
def buffer() -> Iterator[click_buffer.ClickBuffer]:
    """Each test starts and ends with no click in the process and none in Redis."""
    click_buffer._buffer.flush()
    redis_client().delete(click_buffer.STREAM)
    yield click_buffer._buffer
    click_buffer._buffer.flush()


@pytest.fixture
def no_redis(settings: Settings) -> Iterator[None]:
    with without_redis(settings):
        yield
