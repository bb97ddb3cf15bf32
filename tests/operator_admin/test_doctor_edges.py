"""What the doctor says of edges, by a real Redis of links and a real replica of it."""

import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from django.test import override_settings
from pytest_django import Settings

from config.storage import redis_client
from links.follow.stop_cache import COPIED_AT
from operator_admin.doctor import replicas
from tests.redis_servers import RedisServer
from tests.stack.programs import wait_until

pytestmark = pytest.mark.usefixtures("english")


@pytest.fixture
def links(tmp_path: Path) -> Iterator[RedisServer]:
    """A Redis of links, as LINKS_REDIS_URL names it."""
    server = RedisServer(tmp_path / "links")
    server.start()
    with override_settings(LINKS_REDIS_URL=server.url, EDGE_TOKENS={"ams": b"x" * 40}):
        yield server
    redis_client._links_client.cache_clear()
    redis_client._blocking_links_client.cache_clear()
    server.kill()


@pytest.fixture
def follower(links: RedisServer, tmp_path: Path) -> Iterator[RedisServer]:
    follows = ["--replicaof", "127.0.0.1", str(links.port), "--replica-announced", "no"]
    server = RedisServer(tmp_path / "edge", follows)
    server.start()
    yield server
    server.kill()


def stamp(links: RedisServer, age: float = 0.0) -> None:
    links.client.set(COPIED_AT, int((time.time() - age) * 1000))


def online(links: RedisServer) -> None:
    info: Any = links.client.info("replication")
    wait_until(lambda: links.client.info("replication").get("slave0", {}).get("state") == "online")
    assert info["role"] == "master"


def test_service_without_edges_passes() -> None:
    assert (replicas.links_redis().detail, replicas.edges().detail) == ("none", "none")


def test_edges_without_a_redis_of_links_fail(settings: Settings) -> None:
    settings.EDGE_TOKENS = {"ams": b"x" * 40}

    assert replicas.links_redis().detail == "EDGE_TOKENS is set, LINKS_REDIS_URL is not"


@pytest.mark.usefixtures("links")
def test_redis_of_links_of_its_own_passes() -> None:
    assert replicas.links_redis().ok


def test_redis_of_links_that_is_also_the_main_one_fails(settings: Settings) -> None:
    settings.LINKS_REDIS_URL = settings.REDIS_URL
    try:
        found = replicas.links_redis()
    finally:
        redis_client._links_client.cache_clear()

    assert (found.ok, found.detail) == (False, "it is the Redis of REDIS_URL")


def test_redis_of_links_that_is_away_fails_both_checks(links: RedisServer) -> None:
    links.kill()

    for check in (replicas.links_redis, replicas.edges):
        found = check()
        assert not found.ok
        assert "LINKS_REDIS_URL" in found.cure


def test_redis_of_links_that_became_a_replica_fails(links: RedisServer) -> None:
    links.client.replicaof("127.0.0.1", "1")

    assert replicas.links_redis().detail.startswith("it refuses us")


def test_edges_of_which_none_is_connected_fail(links: RedisServer) -> None:
    stamp(links)

    found = replicas.edges()

    assert found.detail == "no replica of the Redis of links is connected"
    assert "INFO replication" in found.cure


@pytest.mark.usefixtures("follower")
def test_edges_pass_while_their_replica_follows_a_stamped_master(links: RedisServer) -> None:
    online(links)
    stamp(links)
    links.client.set("link", "row")

    found = replicas.edges()

    assert (found.ok, found.detail[:20]) == (True, "replicas that follow")


@pytest.mark.usefixtures("follower")
def test_edges_fail_when_no_web_process_stamps_the_stops(links: RedisServer) -> None:
    online(links)
    never = replicas.edges()
    stamp(links, age=30)
    old = replicas.edges()

    assert (never.ok, old.ok) == (False, False)
    assert never.detail == "replicas that follow: 1, stops never stamped"
    assert old.detail.startswith("replicas that follow: 1, stops stamped 3")
    assert "Start the web processes" in old.cure


def test_replica_that_does_not_confirm_fails(
    links: RedisServer, follower: RedisServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(replicas, "PATIENCE", 0.3)
    online(links)
    subprocess.run(["kill", "-STOP", str(follower.pid)], check=True)
    links.client.set("link", "x" * 2**21)
    stamp(links)

    found = replicas.edges()

    assert found.detail == ("replicas that do not follow: 127.0.0.1 (online, 2.0 MB behind)")
