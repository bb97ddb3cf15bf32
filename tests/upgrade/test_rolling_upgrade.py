"""An upgrade from the last release under load: no request fails, nothing is lost or paid twice."""

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import urlsplit

import psycopg
import pytest

from config.environment.variables import ROOT
from config.local.embedded import Servers
from tests.stack.carrier import Carrier
from tests.stack.programs import Program, wait_until
from tests.upgrade.balancer import Balancer
from tests.upgrade.generation import Generation, check_out
from tests.upgrade.traffic import Traffic
from tools.last_release import NoReleaseError, Release, last_release

DATABASE = "kvitok_upgrade"


@pytest.fixture(scope="module")
def release() -> Release:
    try:
        return last_release(ROOT)
    except NoReleaseError as error:
        pytest.skip(str(error))


@pytest.fixture
def database(servers: Servers) -> Iterator[str]:
    """An empty database beside that of the other tests."""
    assert servers.postgres is not None, "it makes a database of its own: unset DATABASE_URL"
    with psycopg.connect(servers.postgres.url, autocommit=True) as server:
        server.execute(f"CREATE DATABASE {DATABASE}")
        yield urlsplit(servers.postgres.url)._replace(path=f"/{DATABASE}").geturl()
        server.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")


@dataclass
class Upgrade:
    old: Generation
    new: Generation
    balancer: Balancer
    traffic: Traffic


@pytest.fixture
def upgrade(release: Release, database: str, tmp_path: Path) -> Iterator[Upgrade]:
    """The last release at work on a database of its own, with its demo data of four weeks."""
    balancer = Balancer()
    environ = os.environ | {
        "DATABASE_URL": database,
        "PUBLIC_URL": balancer.url,
        "VAR_DIR": str(tmp_path),
        "AUTO_APPROVE_COMPANIES": "1",
        "PYTHONUNBUFFERED": "1",
        "LOG_LEVEL": "INFO",
    }
    old = Generation("old", check_out(release, tmp_path / "release"), environ, tmp_path)
    new = Generation("new", ROOT, environ, tmp_path)
    carrier = Carrier(os.environ["SIMULATOR_URL"])
    simulator = Program(
        ["-m", "tools.simulator"],
        log=tmp_path / "simulator.log",
        environ=environ,
        url=f"{carrier.url}/livez",
    )
    with ExitStack() as stack:
        stack.enter_context(balancer.running())
        stack.callback(simulator.kill)
        simulator.launch()
        old.manage("migrate", "--verbosity", "0")
        old.manage("seed_demo")
        for generation in (old, new):
            stack.callback(generation.stop)
        old.launch()
        simulator.wait_ready()
        old.wait_ready()
        balancer.use(old.url)
        key = json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))["live_key"]
        yield Upgrade(old, new, balancer, Traffic(balancer.url, key, carrier))


@pytest.mark.timeout(300)
def test_an_upgrade_under_load_fails_and_loses_nothing(upgrade: Upgrade) -> None:
    old, new, traffic = upgrade.old, upgrade.new, upgrade.traffic
    tokens = traffic.get("/balance")["available"]
    waiting = [traffic.send_code() for _ in range(3)]

    with traffic.flowing():
        traffic.keep_on("old processes")
        traffic.phase = "migrate"
        new.manage("migrate", "--noinput")
        traffic.keep_on("old processes, migrated")
        new.launch()
        new.wait_ready()
        upgrade.balancer.use(old.url, new.url)
        traffic.keep_on("both", rounds=20)
        upgrade.balancer.use(new.url)
        old.stop()
        traffic.keep_on("new processes")
    for phone in waiting:
        traffic.enter_code(phone)

    assert traffic.failures == []
    assert old.errors() + new.errors() == []
    assert_delivered_once(traffic)
    assert_charged_once(traffic, tokens)
    assert_clicks_counted(traffic)
    new.manage("reconcile")


def assert_delivered_once(traffic: Traffic) -> None:
    def states() -> dict[str, str]:
        return {one["id"]: one["status"] for one in traffic.messages()}

    wait_until(lambda: states() == dict.fromkeys(traffic.phones, "delivered"), 30, instead=states)
    copies = {phone: len(traffic.carrier.messages(phone)) for phone in traffic.phones.values()}
    assert {phone: many for phone, many in copies.items() if many != 1} == {}


def assert_charged_once(traffic: Traffic, tokens: int) -> None:
    cost = sum(one["cost"] for one in traffic.messages())
    wait_until(
        lambda: traffic.get("/balance")["held"] == 0, instead=lambda: traffic.get("/balance")
    )

    assert traffic.get("/balance")["available"] == tokens - cost


def assert_clicks_counted(traffic: Traffic) -> None:
    def counted() -> dict[str, int]:
        links = [traffic.get(f"/links/{id_}") for id_ in traffic.links]
        return {one["id"]: one["clicks"] + one["previews"] + one["scanners"] for one in links}

    wait_until(lambda: counted() == traffic.links, 30, instead=counted)
