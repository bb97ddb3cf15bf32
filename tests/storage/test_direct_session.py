"""Behind a real PgBouncer in transaction mode: what needs a session goes past it."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from django.db import connection

from config.environment.variables import ROOT
from config.local.processes import Account
from config.local.server_account import account_for
from storage import sessions
from tests.factories import ApiKeyFactory
from tests.ports import free_port
from tests.stack.programs import wait_until

PGBOUNCER = shutil.which("pgbouncer", path=f"{os.environ['PATH']}:/usr/sbin")
pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.slow]
needs_pgbouncer = pytest.mark.skipif(PGBOUNCER is None, reason="pgbouncer is not installed")
CONFIG = """[databases]
* = host={host} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
ignore_startup_parameters = extra_float_digits
"""


@pytest.fixture
def pooled_url() -> Iterator[str]:
    """The tests' database behind a pooler."""
    params = connection.get_connection_params()
    port = free_port()
    directory = Path(tempfile.mkdtemp(prefix="pgbouncer-"))
    directory.chmod(0o755)
    config = directory / "pgbouncer.ini"
    config.write_text(CONFIG.format(host=params["host"], user=params["user"], port=port))
    account: Account | None = account_for()
    identity = {"user": account.uid, "group": account.gid, "extra_groups": []} if account else {}
    assert PGBOUNCER
    process = subprocess.Popen([PGBOUNCER, "-q", config], **identity)  # type: ignore[call-overload]
    url = f"postgresql://{params['user']}@127.0.0.1:{port}/{params['dbname']}"
    try:
        wait_until(lambda: is_open(port))
        yield url
    finally:
        process.kill()
        process.wait()
        shutil.rmtree(directory)


def is_open(port: int) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", port)) == 0


def manage(url: str, *arguments: str) -> subprocess.CompletedProcess[str]:
    params = connection.get_connection_params()
    direct = f"postgresql://{params['user']}@/{params['dbname']}?host={params['host']}"
    pooled = {
        "DATABASE_URL": url,
        "DATABASE_DIRECT_URL": direct,
        "DATABASE_PREPARED_STATEMENTS": "false",
    }
    return subprocess.run(
        [sys.executable, "manage.py", *arguments],
        cwd=ROOT,
        env=os.environ | pooled,
        capture_output=True,
        text=True,
        check=False,
    )


def test_session_without_a_pooler_is_not_pooled() -> None:
    assert not sessions.is_pooled()


@needs_pgbouncer
def test_queries_go_through_the_pooler_and_sessions_past_it(pooled_url: str) -> None:
    code = (
        "from storage import sessions as d; print(d.is_pooled(), "
        "d.connect().execute('SELECT pg_try_advisory_lock(1)').fetchone())"
    )

    done = manage(pooled_url, "shell", "-v0", "-c", code)

    assert done.stdout.split() == ["True", "(True,)"], done.stderr


HEAR_OF_A_REVOKE = """
from accounts.keys import api_keys; from accounts.models import ApiKey
api_keys.refresh()
heard = [api_keys.find('{key}') is not None]
ApiKey.objects.update(revoked_at='2026-01-01T00:00Z')
api_keys.refresh()
print(heard, api_keys.find('{key}'), api_keys._changes.last.changes != frozenset())
"""


@needs_pgbouncer
def test_changes_of_keys_are_seen_through_the_pooler(pooled_url: str) -> None:
    key = ApiKeyFactory.create().plaintext

    done = manage(pooled_url, "shell", "-v0", "-c", HEAR_OF_A_REVOKE.format(key=key))

    assert done.stdout.split() == ["[True]", "None", "True"], done.stderr


@needs_pgbouncer
@pytest.mark.parametrize("command", [["migrate"], ["backup", "var/no-backup"]])
def test_command_that_needs_a_session_refuses_the_pooler(
    pooled_url: str, command: list[str]
) -> None:
    done = manage(pooled_url, *command)

    assert done.returncode == 1
    assert "DATABASE_URL leads to a pooler" in done.stderr
