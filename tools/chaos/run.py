"""One run: start everything, apply load and faults, drain, stop, check the invariants."""

import logging
import os
import shutil
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, date, datetime
from pathlib import Path

import django
from django.core.management import call_command

from config.environment.variables import ROOT
from config.local.embedded import Servers, temporary
from config.local.processes import kill_survivors
from tools.chaos.checks import external_records, verdicts
from tools.chaos.checks.verdicts import Finding
from tools.chaos.faults.archiver import Archiver
from tools.chaos.plan import Options, Speed, make, speed_of
from tools.chaos.report import Report
from tools.chaos.stack import MARK, Stack
from tools.chaos.traffic.client import Account
from tools.chaos.traffic.load import Load
from tools.chaos.traffic.payers import Payers

Say = Callable[[str], None]


def run(options: Options, say: Say) -> Report:
    place = ROOT / "var/chaos" / f"{options.seed}-{os.getpid()}"
    begun = time.monotonic()
    with temporary(durable=True, environ={}) as servers, kept(place, servers, say) as keep:
        report = _run(options, servers, place, say)
        report.seconds = time.monotonic() - begun
        if report.is_clean and not options.keep:
            keep.clear()
        else:
            report.place = str(place)
    return report


@contextmanager
def kept(place: Path, servers: Servers, say: Say) -> Iterator[threading.Event]:
    """Leaves no process behind; keeps data and logs unless the event is cleared."""
    place.mkdir(parents=True)
    keep = threading.Event()
    keep.set()
    try:
        yield keep
    except KeyboardInterrupt:
        keep.clear()
        raise
    finally:
        kill_survivors(f"{MARK}={place}")
        for server in servers:
            server.stop()
        if keep.is_set():
            shutil.copytree(servers.directory, place / "stores", dirs_exist_ok=True)
            say(f"Data and logs are kept in {place}")
        else:
            shutil.rmtree(place)


def _run(options: Options, servers: Servers, place: Path, say: Say) -> Report:
    plan = make(options)
    stack = Stack(servers, place, options)
    os.environ.update(stack.environ)
    say(f"{plan.sends} sends and {options.kills} kills in {plan.seconds:.0f} s …")
    accounts = prepare(plan.tokens, speed_of(options), is_smart=options.smart)
    before = seed_months() if options.months else None
    payer = prepare_payer() if options.payments else None
    stack.start()
    say("Everything is up.")
    load = Load(
        options, plan, stack, accounts=accounts, archive_before=before, payer=payer, say=say
    )
    try:
        load.run()
        is_archived = load.archiver is None or load.archiver.finish()
        exits = stack.stop()
    finally:
        stack.kill()
    say("Everything is stopped; checking …")
    external_records.load_records(stack.simulator_log, load.journal.path)
    findings = list(verdicts.check_invariants())
    if load.archiver is not None:
        findings += _archived(load.archiver, is_finished=is_archived)
    if load.payers is not None:
        findings += _credited(load, load.payers)
    report = Report.of(
        options, plan, stack, load.injector, findings, flushes=load.flusher.times, exits=exits
    )
    if load.payers is not None:
        report.facts["top-ups"] = {
            "paid": len(load.payers.paid),
            "killed between notice and credit": load.credit_killer.hits,
        }
    return report


def _archived(archiver: Archiver, *, is_finished: bool) -> Iterator[Finding]:
    from tools.chaos import months  # noqa: PLC0415 - models need Django set up

    return months.findings(archiver, is_finished=is_finished)


def _credited(load: Load, payers: Payers) -> Iterator[Finding]:
    from tools.chaos.checks import credits as credit_checks  # noqa: PLC0415 - needs Django set up

    killer = load.credit_killer
    return credit_checks.findings(
        payers.paid.values(),
        len(load.plan.payments),
        refused=payers.faults,
        hits=killer.hits,
        planned=killer.planned,
    )


def prepare_payer() -> Account:
    from tools.chaos.traffic import companies  # noqa: PLC0415 - models need Django set up

    payer = companies.create_payer()
    companies.drop_connections()
    return payer


def seed_months() -> date:
    """Messages of old months; returns the month after the last of them."""
    from tools.chaos import months  # noqa: PLC0415 - models need Django set up
    from tools.chaos.traffic import companies  # noqa: PLC0415

    before = months.seed(datetime.now(UTC))
    companies.drop_connections()
    return before


def prepare(tokens: Sequence[int], speed: Speed, *, is_smart: bool = False) -> list[Account]:
    """Django, the schema, and a company for each amount of tokens."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    django.setup()
    logging.getLogger("urllib3").setLevel(logging.ERROR)  # answers cut short are our own doing
    from tools.chaos.traffic import companies  # noqa: PLC0415 - models need Django set up

    call_command("migrate", verbosity=0, interactive=False)
    accounts = companies.create_companies(tokens, speed, is_smart=is_smart)
    companies.drop_connections()
    return accounts
