"""The primary is killed under load and its standby promoted: no accepted send is lost."""

import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from urllib.parse import urlencode
from uuid import UUID

import pytest

from accounts.models import Company
from billing.wallet import ledger
from catalogue.ids import parse_id
from config.local.server_account import account_for
from config.local.server_files import temporary_directory
from tests.factories import ApiKeyFactory
from tests.operator_admin.backup.conftest import take
from tests.operator_admin.backup.copies import Copy, load
from tests.operator_admin.backup.servers import ArchivingPostgres, StandbyPostgres
from tests.stack.programs import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]


@pytest.fixture
def primary() -> Iterator[ArchivingPostgres]:
    directory = temporary_directory(account_for())
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, directory)
        server = ArchivingPostgres(directory / "primary")
        stack.callback(server.close)
        server.start()
        yield server


@pytest.fixture
def standby(primary: ArchivingPostgres) -> Iterator[StandbyPostgres]:
    """Started by the test, once there is something to copy."""
    server = StandbyPostgres(primary.directory.with_name("standby"))
    yield server
    server.close()


def test_accepted_sends_survive_the_primary(
    company: Company, tmp_path: Path, primary: ArchivingPostgres, standby: StandbyPostgres
) -> None:
    ledger.grant(company=company, amount=1_000_000, reason="test")
    key = ApiKeyFactory.create(company=company)
    take(tmp_path / "backup")
    load(tmp_path / "backup", Copy(primary.url))
    standby.follow(primary)
    both = Copy(f"postgresql://kvitok@/kvitok?{urlencode({'host': hosts(primary, standby)})}")

    with both.sending(key, accepted := tmp_path / "accepted"):
        primary.kill()
        before = len(ids(accepted))
        Copy(standby.url).query("SELECT pg_promote()")
        wait_until(lambda: len(ids(accepted)) > before + 20)

    kept = set(Copy(standby.url).query("SELECT id FROM channels_message"))
    assert [id_ for id_ in ids(accepted) if id_ not in kept] == []


def hosts(*servers: ArchivingPostgres | StandbyPostgres) -> str:
    return ",".join(str(server.sockets) for server in servers)


def ids(accepted: Path) -> list[UUID | None]:
    """Returns the ids of the answers that were written whole."""
    lines = accepted.read_text().splitlines(keepends=True)
    return [parse_id("msg", line.strip()) for line in lines if line.endswith("\n")]
