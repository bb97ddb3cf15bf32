"""The last release at work, ready to be replaced by this tree."""

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
from tests.stack.programs import Program
from tests.upgrade.balancer import Balancer
from tests.upgrade.generation import Generation, check_out
from tests.upgrade.traffic import Traffic
from tools.last_release import NoReleaseError, last_release

DATABASE = "kvitok_upgrade"
ROLE = "kvitok_upgrade_app"


@dataclass(frozen=True)
class Database:
    """As in production: the owner of the tables migrates, and the processes have another role."""

    owner: str
    application: str

    def migrate(self, generation: Generation) -> None:
        generation.manage("migrate", "--noinput", DATABASE_URL=self.owner)
        generation.manage("grant_privileges", ROLE, DATABASE_URL=self.owner)


@dataclass(frozen=True)
class Upgrade:
    database: Database
    old: Generation
    new: Generation
    balancer: Balancer
    traffic: Traffic


@pytest.fixture(scope="session")
def release_tree(tmp_path_factory: pytest.TempPathFactory) -> Path:
    try:
        return check_out(last_release(ROOT), tmp_path_factory.mktemp("release"))
    except NoReleaseError as error:
        pytest.skip(str(error))


@pytest.fixture
def database(servers: Servers) -> Iterator[Database]:
    """An empty database, separate from the one for the other tests."""
    assert servers.postgres is not None, "it makes a database of its own: unset DATABASE_URL"
    url = urlsplit(servers.postgres.url)._replace(path=f"/{DATABASE}")
    with psycopg.connect(servers.postgres.url, autocommit=True) as server:
        server.execute(f"CREATE ROLE {ROLE} LOGIN")
        server.execute(f"CREATE DATABASE {DATABASE}")
        yield Database(url.geturl(), url._replace(netloc=f"{ROLE}@").geturl())
        server.execute(f"DROP DATABASE {DATABASE} WITH (FORCE)")
        server.execute(f"DROP ROLE {ROLE}")


@pytest.fixture
def upgrade(release_tree: Path, database: Database, tmp_path: Path) -> Iterator[Upgrade]:
    """The last release with its demo data of four weeks, at work behind a balancer."""
    balancer = Balancer()
    carrier = Carrier(os.environ["SIMULATOR_URL"])
    environ = os.environ | {
        "DATABASE_URL": database.application,
        "PUBLIC_URL": balancer.url,
        "VAR_DIR": str(tmp_path),
        "AUTO_APPROVE_COMPANIES": "1",
        "PYTHONUNBUFFERED": "1",
        "LOG_LEVEL": "INFO",
    }
    old = Generation("old", release_tree, environ, tmp_path)
    new = Generation("new", ROOT, environ, tmp_path)
    with ExitStack() as stack:
        stack.enter_context(balancer.running())
        _start_simulator(stack, environ, carrier, tmp_path)
        database.migrate(old)
        old.make_demo()
        for generation in (old, new):
            stack.callback(generation.stop)
        old.start()
        balancer.use(old.url)
        demo = json.loads((tmp_path / "demo.json").read_text(encoding="utf-8"))
        yield Upgrade(database, old, new, balancer, Traffic(balancer.url, demo, carrier))


def _start_simulator(
    stack: ExitStack, environ: dict[str, str], carrier: Carrier, logs: Path
) -> None:
    simulator = Program(
        ["-m", "tools.simulator"],
        log=logs / "simulator.log",
        environ=environ,
        url=f"{carrier.url}/livez",
    )
    stack.callback(simulator.kill)
    simulator.start()
