"""A run may end at any of its statements. The next one finishes it."""

from collections.abc import Callable
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from django.db import connection

from billing.wallet import ledger
from channels.models import FallbackEvent
from storage.months.old_months import is_attached
from tests.api.clients import Api
from tests.operator_admin.archive.commands import archive, breaches
from tests.operator_admin.archive.databases import copied

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("own_database")]
STRIDE = 7


class _KilledError(Exception):
    pass


class _Kill:
    """Ends the run at its `number`th statement; what it had not committed is rolled back."""

    def __init__(self, number: int) -> None:
        self.left = number

    def __call__(self, execute: Callable[..., Any], statement: str, *others: Any) -> Any:
        if "SAVEPOINT" not in statement:
            self.left -= 1
            if not self.left:
                raise _KilledError
        return execute(statement, *others)


def test_killed_run_is_finished_by_the_next(history: Api, month: date, directory: Path) -> None:
    balance = ledger.balance(history.company.pk)
    template = connection.settings_dict["NAME"]
    number = 1
    left = 0
    while not left:
        archive_directory = directory / str(number)
        archive_directory.mkdir()
        kill = _Kill(number)
        with copied(template, "kvitok_killed"):
            with suppress(_KilledError), connection.execute_wrapper(kill):
                archive(archive_directory)
            assert breaches() == []
            archive(archive_directory)
            assert breaches() == []
            assert ledger.balance(history.company.pk) == balance
            assert is_attached("billing_transfer", month) is None
            assert not FallbackEvent.objects.exists()
            assert archive(archive_directory, "--verify").startswith("Every archive is intact")
        number += STRIDE
        left = max(0, kill.left)

    assert number > 60
