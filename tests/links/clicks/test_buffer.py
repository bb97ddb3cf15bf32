"""Clicks are gathered in a process before they are written to the stream."""

import time
from uuid import uuid4

import pytest
from django.utils import timezone
from pytest_django import Settings

from links.clicks import buffer as click_buffer
from storage.redis_client import redis_client
from tests.factories import LinkFactory
from tests.links.visiting import (
    BROWSER,
    BROWSER_ENVIRON,
    Ask,
    counted,
    entries,
    wait_until,
    without_redis,
)

VISIT = {"REQUEST_METHOD": "GET", **BROWSER_ENVIRON}
pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]


def test_click_is_counted(ask: Ask) -> None:
    link = LinkFactory.create()

    ask(f"/{link.slug}")

    assert counted() == [(link.id.hex, "person")]


def test_only_live_links_are_clicked(ask: Ask) -> None:
    ask("/zzzzzzzz")
    ask(f"/{LinkFactory.create(disabled_at=timezone.now()).slug}")

    assert counted() == []


@pytest.mark.parametrize(
    ("asked", "kind"),
    [
        ({}, "person"),
        ({"method": "HEAD"}, "probe"),
        ({"HTTP_SEC_PURPOSE": "prefetch;prerender"}, "prefetch"),
        ({"HTTP_X_MOZ": "prefetch"}, "prefetch"),
        ({"HTTP_X_PURPOSE": "preview"}, "prefetch"),
        ({"HTTP_PURPOSE": "shopping"}, "person"),
        ({"HTTP_USER_AGENT": "WhatsApp/2.23.20.0 A"}, "preview"),
        ({"HTTP_USER_AGENT": f"{BROWSER} Google-PageRenderer Google"}, "preview"),
        ({"HTTP_USER_AGENT": "Mozilla/5.0 (compatible; bingbot/2.0; +http://x)"}, "scanner"),
    ],
)
def test_visitor_kinds_are_recorded(ask: Ask, asked: dict[str, str], kind: str) -> None:
    link = LinkFactory.create()

    status, _, _ = ask(f"/{link.slug}", **asked)

    assert status == 302
    assert counted() == [(link.id.hex, kind)]


def test_click_that_cannot_be_recorded_is_dropped() -> None:
    buffer = click_buffer.ClickBuffer()
    buffer._is_started = True

    buffer.add(uuid4().hex, {})  # of which no method is told
    buffer.add(uuid4().hex, VISIT)

    assert (buffer._dropped, len(buffer._clicks)) == (1, 1)


def test_clicks_of_one_network_are_limited(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    buffer = click_buffer.ClickBuffer()
    buffer._is_started = True

    for number in range(2 * click_buffer.NETWORK_CLICKS):
        buffer.add("loop", VISIT | {"REMOTE_ADDR": f"2a02:6b8::{number:x}"})
    buffer.add("person", VISIT | {"REMOTE_ADDR": "77.88.8.8"})

    clicked = [click[0] for click in buffer._clicks]
    assert clicked == ["loop"] * (click_buffer.NETWORK_CLICKS + 1) + ["person"]
    monkeypatch.setattr(time, "time", lambda: 1_800_000_060.0)
    buffer.add("later", VISIT | {"REMOTE_ADDR": "2a02:6b8::"})
    assert buffer._clicks[-1][0] == "later"


def test_loop_hides_no_first_click_of_its_neighbours(monkeypatch: pytest.MonkeyPatch) -> None:
    """Customers of a carrier share its address, and their clicks prove deliveries."""
    monkeypatch.setattr(time, "time", lambda: 1_800_000_000.0)
    buffer = click_buffer.ClickBuffer()
    buffer._is_started = True
    shared = VISIT | {"REMOTE_ADDR": "77.88.8.8"}

    for _visit in range(2 * click_buffer.NETWORK_CLICKS):
        buffer.add("loop", shared)
    for number in range(2 * click_buffer.NETWORK_LINKS):
        buffer.add(f"link-{number}", shared)

    clicked = [click[0] for click in buffer._clicks]
    assert "link-7" in clicked
    assert len(clicked) == click_buffer.NETWORK_CLICKS + click_buffer.NETWORK_LINKS


@pytest.mark.parametrize("address", ["127.0.0.1", "172.18.0.1", "fd00::1", ""])
def test_visitors_behind_an_address_of_ours_are_all_counted(address: str) -> None:
    buffer = click_buffer.ClickBuffer()
    buffer._is_started = True

    for _visit in range(2 * click_buffer.NETWORK_CLICKS):
        buffer.add("link", VISIT | {"REMOTE_ADDR": address})

    assert len(buffer._clicks) == 2 * click_buffer.NETWORK_CLICKS


def test_buffer_is_flushed_by_itself() -> None:
    click_buffer.ClickBuffer().add(uuid4().hex, VISIT)

    assert wait_until(lambda: redis_client().xlen(click_buffer.STREAM) == 1)


def test_full_buffer_drops_the_oldest_clicks_while_redis_is_down(settings: Settings) -> None:
    buffer = click_buffer.ClickBuffer(capacity=5)
    buffer._is_started = True
    buffer.add("first", VISIT)

    with without_redis(settings):
        assert not buffer.flush()
        for number in range(7):
            buffer.add(str(number), VISIT)
        assert not buffer.flush()

    assert [name for name, _ in counted(buffer)] == ["first", "2", "3", "4", "5", "6"]
    assert buffer._dropped == 2


def test_repeated_batch_keeps_its_id(settings: Settings) -> None:
    buffer = click_buffer.ClickBuffer()
    buffer._is_started = True
    buffer.add("first", VISIT)
    with without_redis(settings):
        buffer.flush()
    entry = buffer._entry

    assert entry is not None
    assert buffer.flush()
    (((_, fields),)) = entries()
    assert fields == {b"id": entry["id"].encode(), b"batch": entry["batch"]}
