"""`python -m tools.chaos --seed 7 --sends 5000 --kills 20 [--flush] [--short] [--months]
[--payments] [--smart] [--json F]`."""

import os
import secrets
import sys
import time
from collections.abc import Callable, Sequence
from datetime import UTC, datetime
from pathlib import Path

from config.environment.variables import ROOT
from config.local.embedded import Servers
from tools.chaos import payments, stack
from tools.chaos.checks import check_invariants
from tools.chaos.load import Load, prepare
from tools.chaos.plan import Options, make
from tools.chaos.report import Report
from tools.command_line import ExitCode, parser, run_command, say
from tools.stack.stack import drop_connections


def main(arguments: Sequence[str]) -> int:
    options = parser("make chaos", __doc__)
    add = options.add_argument
    add("--seed", type=int, default=secrets.randbelow(1_000_000), help="seed of all random choices")
    add("--sends", type=int, help="number of sends; 5000, or 330 if short")
    add("--kills", type=int, help="number of kills; 20, or 6 if short")
    add("--flush", action="store_true", help="empty Redis every second")
    add("--short", action="store_true", help="a run of a minute, with shortened deadlines")
    add("--months", action="store_true", help="old months are archived under kills")
    add("--smart", action="store_true", help="smart routing for companies that fall back")
    add("--payments", action="store_true", help="top-ups, and kills at credits")
    add("--keep", action="store_true", help="keep data and logs in any case")
    add("--json", type=Path, help="file of the report")
    values = vars(options.parse_args(arguments))
    path = values.pop("json") or ROOT / f"tools/chaos/results/{values['seed']}.json"
    values["sends"] = values["sends"] or (330 if values["short"] else 5000)
    if values["kills"] is None:
        values["kills"] = 6 if values["short"] else 20
    return run_command("chaos", lambda: _run(Options(**values), path))


def _run(options: Options, path: Path) -> ExitCode:
    say(f"seed {options.seed}")
    directory = ROOT / "var/chaos" / f"{options.seed}-{os.getpid()}"
    begun = time.monotonic()
    with stack.kept(directory, say) as (servers, keep):
        report = _report(options, servers, directory, say)
        report.seconds = time.monotonic() - begun
        if report.is_clean and not options.keep:
            keep.clear()
        else:
            report.place = str(directory)
    report.save(path)
    for line in report.lines():
        say(line)
    return ExitCode.PASSED if report.is_clean else ExitCode.FAILED


def _report(
    options: Options, servers: Servers, directory: Path, say: Callable[[str], None]
) -> Report:
    plan = make(options)
    programs = stack.Stack(
        servers, directory, options.speed, seed=options.seed, has_payments=options.payments
    )
    say(f"{plan.sends} sends and {options.kills} kills in {plan.seconds:.0f} s …")
    accounts = prepare(programs, plan.tokens, options.speed, is_smart=options.smart)
    from tools.chaos import companies, months  # noqa: PLC0415 - models need Django set up

    before = months.seed(datetime.now(UTC)) if options.months else None
    payer = companies.create_payer() if options.payments else None
    drop_connections()
    programs.start()
    say("Everything is up.")
    load = Load(options, plan, programs, accounts, archive_before=before, payer=payer, say=say)
    try:
        load.run()
        is_archived = load.archiver is None or load.archiver.finish()
        exits = programs.stop()
    finally:
        programs.kill()
    say("Everything is stopped; checking …")
    findings = list(check_invariants(programs.simulator_log, programs.journal))
    if load.archiver is not None:
        findings += load.archiver.findings(is_finished=is_archived)
    if load.payers is not None:
        paid, count, killer = load.payers.paid.values(), len(plan.payments), load.credit_killer
        findings += payments.findings(
            paid, count, refused=load.payers.refused, hits=killer.hits, planned=killer.planned
        )
    report = Report.of(
        options, plan, programs, load.injector, findings, flushes=load.flushes, exits=exits
    )
    if load.payers is not None:
        facts = {"paid": len(paid), "killed between webhook and credit": killer.hits}
        report.facts["top-ups"] = facts
    return report


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
