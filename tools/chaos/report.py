"""The report of a run, as a table and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tools.chaos.checks import Finding, logged_errors, provable_timelines, select, uncharged
from tools.chaos.fault_injector import FaultInjector
from tools.chaos.plan import Options, Plan
from tools.chaos.stack import Stack
from tools.command_line import write_json
from tools.queries import queries

SHOWN = 10  # subjects of a broken promise
Counts = Mapping[str, int]


@dataclass
class Report:
    options: Options
    findings: list[Finding]
    facts: dict[str, dict[str, int]]
    missed: list[str]  # timelines of uncharged deliveries that could have been proved
    seconds: float = 0.0
    place: str = ""  # directory with data and logs

    @classmethod
    def of(
        cls,
        options: Options,
        plan: Plan,
        stack: Stack,
        injector: FaultInjector,
        findings: list[Finding],
        *,
        flushes: int,
        exits: dict[str, int],
    ) -> "Report":
        ours = (stack.web, stack.worker, stack.second_worker, stack.beat)
        explained, others = logged_errors(program.log for program in ours)
        proxy, free = json.loads(stack.counts.read_text(encoding="utf-8")), uncharged()
        stops = enumerate(injector.stops, start=1)
        facts = {
            **{
                query.name: {str(kind): int(count) for kind, count in sorted(select(query.text))}
                for query in queries(__file__, "facts.sql").values()
            },
            "kills": dict(injector.kills),
            "other disruptions": dict(injector.disruptions),
            "died by themselves": dict(injector.deaths),
            "seconds to stop when asked": {
                f"{name} {number}": round(seconds) for number, (name, seconds) in stops
            },
            **{
                f"network {line}": {"requests": counts["requests"], **counts["faults"]}
                | {"nobody there": counts["down"]}
                for line, counts in proxy.items()
            },
            "Redis emptied": {"times": flushes},
            "errors logged": dict(explained + others),
            "free deliveries": dict(Counter(free.values())),
            "exit codes": exits,
        }
        findings = [
            *findings,
            check_kills(plan, injector),
            check_servers(proxy),
            check_logs(others),
            check_deadlocks(injector.deadlocks),
        ]
        return cls(options, findings, facts, provable_timelines(free))

    @property
    def is_clean(self) -> bool:
        return all(finding.is_kept for finding in self.findings)

    def save(self, path: Path) -> None:
        write_json(path, asdict(self) | {"is_clean": self.is_clean})

    def lines(self) -> Iterator[str]:
        for name, counts in self.facts.items():
            listed = ", ".join(f"{kind} {count}" for kind, count in counts.items())
            yield f"{name}: {listed or 'none'}"
        yield from (f"  {timeline}" for timeline in self.missed)
        yield ""
        for finding in self.findings:
            sign = "ok  " if finding.is_kept else "FAIL"
            yield f"{sign}  {finding.check:16} {finding.promise}"
            for subject in finding.subjects[:SHOWN]:
                yield f"      {subject}"
            if len(finding.subjects) > SHOWN:
                yield f"      … and {len(finding.subjects) - SHOWN} more"
        broken = sum(not finding.is_kept for finding in self.findings)
        summary = f"{broken} of {len(self.findings)} promises broken" if broken else "all kept"
        yield ""
        yield f"seed {self.options.seed}: {summary}, {self.seconds:.0f} s"


def check_kills(plan: Plan, injector: FaultInjector) -> Finding:
    planned = Counter(str(fault.what) for fault in plan.planned_faults)
    happened = injector.kills + injector.disruptions
    missing = [
        f"{what}: {happened[what]} of {count}"
        for what, count in planned.items()
        if happened[what] < count
    ]
    return Finding("kills", "every planned kill has happened", missing)


def check_servers(proxy: Mapping[str, Any]) -> Finding:
    """Responses that crossed the proxy, to clients and to vendors."""
    wrong = [
        f"{count} × {status} {line}"
        for line, counts in proxy.items()
        for status, count in counts["statuses"].items()
        if status.startswith("5") and status not in {"502", "503"}
    ]
    return Finding("no 500", "no client or vendor is ever answered 500", wrong)


def check_logs(errors: Counts) -> Finding:
    wrong = [f"{count} × {kind}" for kind, count in errors.items()]
    return Finding("logs", "only errors explained by a kill are logged", wrong)


def check_deadlocks(count: int) -> Finding:
    wrong = [f"{count} of them"] if count else []
    return Finding("deadlocks", "locks are taken in one order: no two transactions deadlock", wrong)
