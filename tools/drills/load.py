"""Sends to the service of a drill, and what must be true of it afterwards."""

from collections.abc import Sequence
from pathlib import Path
from types import TracebackType

from tools.chaos.checks import external_records, verdicts
from tools.chaos.database import DatabaseProbe
from tools.chaos.plan import SHORT
from tools.chaos.traffic.client import Account, Backend, Client
from tools.chaos.traffic.drain import Drain
from tools.chaos.traffic.journal import Journal
from tools.chaos.traffic.scheduler import Scheduler
from tools.drills.stack import Stack

FIRST_PHONE = 79_260_000_000
_ANSWERED_WITHIN = 120.0  # seconds after the last send


class Load:
    """Companies that send; a journal keeps each call of theirs."""

    def __init__(self, stack: Stack, accounts: Sequence[Account], threads: int) -> None:
        self._stack = stack
        self._scheduler, self._journal = Scheduler(threads), Journal(journal_of(stack))
        self._database = DatabaseProbe(stack.postgres.url)
        client = Client(stack.api, (2.0, SHORT.send_wait + 4.0))
        self.backend = Backend(
            client, accounts, self._journal, self._scheduler, carrier=stack.carrier, seed=0
        )

    def __enter__(self) -> "Load":
        return self

    def settle(self) -> None:
        """Until all is answered and final."""
        self._stack.run(lambda: self._scheduler.is_done, _ANSWERED_WITHIN)
        Drain(self._stack.simulator_log, self._database, self._stack).hurry()

    def __exit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        self.backend.given_up.set()
        self._scheduler.close()
        self._database.close()
        self._journal.close()


def journal_of(stack: Stack) -> Path:
    return stack.place / "journal.sqlite3"


def broken_checks(stack: Stack) -> list[str]:
    """Of `tools.chaos`, as a line each; loads what phones and companies saw beside the tables."""
    external_records.load_records(stack.simulator_log, journal_of(stack))
    return [
        f"{finding.check}: {', '.join(finding.subjects[:5])}"
        for finding in verdicts.check_invariants()
        if not finding.is_kept
    ]
