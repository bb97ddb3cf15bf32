"""Reconciles the whole history in bounded portions, each in its own transaction.

No snapshot lasts longer than a portion, so vacuum is not held back. The start of the next portion
is committed with the findings of the last: the next run continues a killed one, and two concurrent
runs share the work.
"""

import time
from collections.abc import Callable
from datetime import date, timedelta
from itertools import pairwise
from typing import Any, NamedTuple
from uuid import UUID

from django.db import transaction
from django.db.models import Max
from django.utils import timezone

from billing.models import ReconciliationRun, Seal
from billing.seals import proof
from billing.seals.sealing import BEGINNING
from channels import reconciliation
from channels.models import Message
from channels.reconciliation import CHECKS, Breach, Slice
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column

MESSAGES = 20_000  # messages per portion
SEALS = 100  # company-days per portion
MAX_KEPT = 1000  # breaches listed
SLICE = timedelta(minutes=4)  # the longest scheduled run
INTERVAL = timedelta(days=7)  # interval from the end of one scheduled run to the next

# Checks of messages run for each portion; the others run once.
OF_MESSAGES = {name for name, query in CHECKS.items() if "{messages}" in query}
OF_SEALS = (proof.DIFFERS, proof.BROKEN, proof.UNSEALED, proof.OTHER_DAY)
OF_ARCHIVES = (proof.SUM_DIFFERS, proof.ARCHIVED_BUT_PRESENT)
NUMBER_OF_CHECKS = len(CHECKS) + len(OF_SEALS) + len(OF_ARCHIVES)

Position = dict[str, Any]


class _Portion(NamedTuple):
    breaches: list[Breach]
    position: Position | None  # None after the last portion of the step


def breaches() -> list[Breach]:
    """Checks everything from the beginning, regardless of earlier checks."""
    restart()
    run = advance()
    return [Breach(*values) for values in run.breaches]


def restart() -> None:
    ReconciliationRun.objects.filter(finished_at=None).delete()


def is_due() -> bool:
    """Whether the schedule should continue the run, or start a new one."""
    last = ReconciliationRun.objects.aggregate(at=Max("finished_at"))["at"]
    is_unfinished = ReconciliationRun.objects.filter(finished_at=None).exists()
    return is_unfinished or last is None or last < timezone.now() - INTERVAL


def advance(time_limit: timedelta = timedelta.max) -> ReconciliationRun:
    """Continues the unfinished run, or begins one, until its end or the time limit."""
    started = time.monotonic()
    run = _unfinished_run()
    while run.finished_at is None and time.monotonic() - started < time_limit.total_seconds():
        run = _advance(run.pk) or _unfinished_run()
    return run


@transaction.atomic
def _unfinished_run() -> ReconciliationRun:
    ReconciliationRun.objects.bulk_create([ReconciliationRun()], ignore_conflicts=True)
    return ReconciliationRun.objects.get(finished_at=None)


@transaction.atomic
def _advance(run_id: int) -> ReconciliationRun | None:
    """Checks the next portion; None if the run was restarted in the meantime."""
    execute("SET LOCAL statement_timeout = 0")
    execute("SET LOCAL lock_timeout = 0")  # another process may be checking this portion
    run = ReconciliationRun.objects.select_for_update().filter(pk=run_id).first()
    if run is None or run.finished_at is not None:
        return run
    name = run.position.get("step", next(iter(STEPS)))
    portion = STEPS[name](run.position)
    breaches = run.breaches + [[breach.check, breach.subject] for breach in portion.breaches]
    run.breaches = breaches[:MAX_KEPT]
    if portion.position is not None:
        run.position = {"step": name} | portion.position
    elif following := dict(pairwise(STEPS)).get(name):
        run.position = {"step": following}
    else:
        run.finished_at = timezone.now()
    run.save()
    return run


def _check_all_but_messages(_position: Position) -> _Portion:
    """The portion of checks that a run makes once: all except those of single messages."""
    names = CHECKS.keys() - OF_MESSAGES
    return _Portion(list(reconciliation.run(names, reconciliation.ALL)), None)


def _messages(position: Position) -> _Portion:
    after = UUID(position["after"]) if "after" in position else None
    rows = Message.objects.order_by("id").values_list("id", flat=True)
    if after:
        rows = rows.filter(id__gt=after)
    until = next(iter(rows[MESSAGES - 1 : MESSAGES]), None)
    breaches = list(reconciliation.run(OF_MESSAGES, Slice.of_messages(after, until)))
    return _Portion(breaches, {"after": str(until)} if until else None)


_SEALED_SPANS = sql_files.read("channels/sealed_spans.sql")


def _balances(position: Position) -> _Portion:
    after = int(position.get("after", 0))
    rows = Seal.objects.filter(id__gt=after).order_by("id").values_list("id", flat=True)
    ids = list(rows[:SEALS])
    if not ids:
        return _Portion([], None)
    spans = sql_files.fill(_SEALED_SPANS, after=f"{after:d}", until=f"{ids[-1]:d}")
    subjects = fetch_column(reconciliation.wrong_balances(spans))
    breaches = [Breach(reconciliation.BALANCE_DIFFERS, subject) for subject in subjects]
    return _Portion(breaches, {"after": ids[-1]})


def _seals(position: Position) -> _Portion:
    since = date.fromisoformat(position["day"]) if "day" in position else BEGINNING
    company_id = position.get("company") or proof.next_company(0)
    if company_id is None:
        return _Portion([], None)
    check = proof.check_company(company_id, since)
    if check.next_day:
        return _Portion(
            _breaches(check.faults), {"company": company_id, "day": check.next_day.isoformat()}
        )
    faults = [*check.faults, *proof.check_archived_sums(company_id)]
    following = proof.next_company(company_id)
    return _Portion(_breaches(faults), {"company": following} if following else None)


def _sealed_days(position: Position) -> _Portion:
    since = date.fromisoformat(position["day"]) if "day" in position else BEGINNING
    check = proof.check_days(since)
    next_day = check.next_day
    return _Portion(_breaches(check.faults), {"day": next_day.isoformat()} if next_day else None)


def _breaches(faults: list[proof.Fault]) -> list[Breach]:
    return [Breach(*fault) for fault in faults]


STEPS: dict[str, Callable[[Position], _Portion]] = {
    "open": _check_all_but_messages,
    "messages": _messages,
    "balances": _balances,
    "seals": _seals,
    "sealed_days": _sealed_days,
    "archives": lambda _position: _Portion(_breaches(proof.check_archived_months()), None),
}
