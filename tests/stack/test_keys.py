"""Keys in a web process that knows them without a query."""

import time

from django.db import connection

from accounts.models import ApiKey
from tests.accounts.keys.operators import REVOKE, SUSPEND, session
from tests.stack.programs import BUSY, wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Stack

KNOWN = 3.0  # seconds after which a key would be read again, were it not known to be as it was


def test_operator_in_psql_is_obeyed_within_two_seconds(stack: Stack) -> None:
    revoked = stack.sender()
    suspended = stack.sender()
    for sender in (revoked, suspended):
        assert sender.get("/balance").status_code == 200
    time.sleep(KNOWN)

    with session() as operator:
        operator.execute(REVOKE, [ApiKey.objects.get(company=revoked.company).pk])
        operator.execute(SUSPEND, [suspended.company.pk])

    wait_until(lambda: _status(revoked) == 401 and _status(suspended) == 403, 2.0 + BUSY)


def test_revoke_holds_after_postgres_was_killed(stack: Stack) -> None:
    sender = stack.sender()
    assert sender.get("/balance").status_code == 200
    key = ApiKey.objects.get(company=sender.company)

    stack.kill_postgres()
    stack.postgres.start()
    wait_until(lambda: _status(sender) == 200)
    time.sleep(KNOWN)
    connection.close()
    with session() as operator:
        operator.execute(REVOKE, [key.pk])

    wait_until(lambda: _status(sender) == 401, 2.0 + BUSY)
    stack.recover()
    stack.new_errors()


def _status(sender: Sender) -> int:
    return sender.get("/balance").status_code
