"""A base backup and the archived WAL bring a killed server back to the moment before a mishap."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from accounts.models import Company
from billing.wallet import ledger
from config.local.server_account import account_for
from config.local.server_files import temporary_directory
from tests.factories import ApiKeyFactory
from tests.operator_admin.backup.conftest import take
from tests.operator_admin.backup.copies import Copy, load
from tests.operator_admin.backup.servers import ArchivingPostgres, RecoveringPostgres
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def source() -> Iterator[ArchivingPostgres]:
    directory = temporary_directory(account_for())
    server = ArchivingPostgres(directory / "source")
    with closing(server):
        server.start()
        yield server
    shutil.rmtree(directory)


def archive_all(copy: Copy, archive: Path) -> None:
    """Waits until what was committed up to now is in the archive."""
    (segment,) = copy.query("SELECT pg_walfile_name(pg_switch_wal())")
    wait_until((archive / segment).exists)


def test_recovery_ends_before_the_mishap(
    company: Company, directory: Path, source: ArchivingPostgres
) -> None:
    ledger.grant(company=company, amount=1_000_000, reason="test")
    original = Copy(source.url)
    key = ApiKeyFactory.create(company=company)
    take(directory)
    load(directory, original)
    source.base_backup()
    with original.sending(key):
        pass
    sent, moment = original.query("SELECT count(*), now()::text FROM channels_message")[0]
    original.execute("DELETE FROM otp_verification; UPDATE accounts_company SET name = ''")
    archive_all(original, source.archive)
    source.kill()

    recovered = RecoveringPostgres(source, until=moment)
    with closing(recovered):
        recovered.start()
        copy = Copy(recovered.url)
        done = copy.manage("restore", "--already-restored", "--prove", "--confirm", "kvitok")

        assert done.returncode == 0, done.stdout + done.stderr
        assert f"{sent} open messages expired" in done.stdout
        assert copy.query("SELECT name FROM accounts_company") == [company.name]
        assert copy.query("SELECT count(*) FROM otp_verification") == [sent]
