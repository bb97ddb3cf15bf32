"""The report of a run, as a table and as JSON."""

import json
from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from django.db import connection

from tools.chaos.checks import log_errors, verdicts
from tools.chaos.checks.verdicts import Finding
from tools.chaos.faults.fault_injector import FaultInjector
from tools.chaos.plan import Options, Plan
from tools.chaos.stack import Stack

SHOWN = 10  # subjects of a broken promise
Counts = Mapping[str, int]

# name → a query that counts by kind: what really happened, as against what was planned.
FACTS = {
    "calls to send, by answer": """
        SELECT CASE status WHEN 0 THEN 'none: ' || code WHEN 200 THEN '200'
               ELSE status || ' ' || code END, count(*) FROM client_call GROUP BY 1""",
    "calls to verify, by answer": """
        SELECT CASE status WHEN 0 THEN 'none: ' || code WHEN 200 THEN '200'
               ELSE status || ' ' || code END, count(*) FROM client_entry GROUP BY 1""",
    "repeats": """
        SELECT 'sends repeated', count(*) FROM (
          SELECT key FROM client_call GROUP BY key HAVING count(*) > 1) AS repeated
        UNION ALL SELECT 'answers replayed', count(*) FROM client_call WHERE is_replayed
        UNION ALL SELECT 'codes sent again', count(*) FROM (
          SELECT subject_id FROM channels_message WHERE kind = 'code'
          GROUP BY 1 HAVING count(*) > 1) AS again""",
    "messages, by state": "SELECT state, count(*) FROM channels_message GROUP BY 1",
    "attempts, by what the call brought": """
        SELECT CASE WHEN error_class = '' THEN 'accepted, or unknown to this day'
               ELSE error_class || ' ' || error_code END, count(*)
        FROM channels_attempt GROUP BY 1""",
    "ambiguous attempts, by what became of them": """
        SELECT state, count(*) FROM channels_attempt WHERE error_class = 'ambiguous' GROUP BY 1""",
    "receipts": """
        SELECT provider || ' ' || state, count(*) FROM channels_receipt GROUP BY 1""",
    "fallback events, by reason": "SELECT reason, count(*) FROM channels_fallbackevent GROUP BY 1",
    "captures, by proof": """
        SELECT proof, count(*) FROM billing_transfer WHERE kind = 'capture' GROUP BY 1""",
    "longest time without an answer, seconds": """
        SELECT 'sends and verifies', ceil(max(gap))::int FROM (
          SELECT at - lag(at) OVER (ORDER BY at) AS gap FROM (
            SELECT at FROM client_call WHERE status = 200
            UNION ALL SELECT at FROM client_entry WHERE status IN (200, 422)) AS answers) AS gaps
        WHERE gap IS NOT NULL""",
    "longest Retry-After of a repeat, seconds": """
        SELECT 'request_in_progress', ceil(max(lasted))::int FROM (
          SELECT max(at) - min(at) AS lasted FROM client_call WHERE status = 409 GROUP BY key
        ) AS waits HAVING max(lasted) IS NOT NULL""",
    "vendors' faults on what they took": """
        SELECT fault, count(*) FROM phone_message, unnest(faults) AS fault
        WHERE fault <> 'latency' GROUP BY 1""",
}


@dataclass
class Report:
    options: Options
    planned_seconds: float
    findings: list[Finding]
    facts: dict[str, dict[str, int]]
    uncharged: dict[str, int]  # why → how many
    missed: list[str]  # timelines of those that could have been proved
    proxy: dict[str, Any]
    logged: dict[str, int]
    exits: dict[str, int]
    flushes: int
    seconds: float = 0.0
    place: str = ""  # where data and logs were kept

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
        explained, others = log_errors.logged_errors(program.log for program in ours)
        proxy = json.loads(stack.counts.read_text(encoding="utf-8"))
        facts = {name: count(query) for name, query in FACTS.items()}
        facts |= {
            "kills": dict(injector.kills),
            "other disruptions": dict(injector.disruptions),
            "died by themselves": dict(injector.deaths),
            "seconds to stop when asked": {
                f"{name} {number}": round(seconds)
                for number, (name, seconds) in enumerate(injector.stops, start=1)
            },
        }
        findings = [
            *findings,
            check_kills(plan, injector),
            check_servers(proxy),
            check_logs(others),
            check_deadlocks(injector.deadlocks),
        ]
        free = verdicts.uncharged()
        return cls(
            options,
            plan.seconds,
            findings,
            facts,
            dict(Counter(free.values())),
            verdicts.provable_timelines(free),
            proxy,
            logged=dict(explained + others),
            exits=exits,
            flushes=flushes,
        )

    @property
    def is_clean(self) -> bool:
        return all(finding.is_kept for finding in self.findings)

    def save(self, path: Path) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        fields = asdict(self) | {"is_clean": self.is_clean}
        path.write_text(json.dumps(fields, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")

    def lines(self) -> Iterator[str]:
        yield from self._facts()
        yield ""
        for finding in self.findings:
            mark = "ok  " if finding.is_kept else "FAIL"
            yield f"{mark}  {finding.check:16} {finding.promise}"
            for subject in finding.subjects[:SHOWN]:
                yield f"      {subject}"
            if len(finding.subjects) > SHOWN:
                yield f"      … and {len(finding.subjects) - SHOWN} more"
        broken = sum(not finding.is_kept for finding in self.findings)
        verdict = f"{broken} of {len(self.findings)} promises broken" if broken else "all kept"
        yield ""
        yield f"seed {self.options.seed}: {verdict}, {self.seconds:.0f} s"

    def _facts(self) -> Iterator[str]:
        for name, counts in self.facts.items():
            yield f"{name}: {_listed(counts)}"
        for line, counts in self.proxy.items():
            faults = _listed(counts["faults"])
            requests, down = counts["requests"], counts["down"]
            yield f"network {line}: {requests} requests; {faults}; nobody there: {down}"
        yield f"Redis emptied: {self.flushes}"
        yield f"errors logged: {_listed(self.logged)}"
        yield f"free deliveries: {_listed(self.uncharged)}"
        yield from (f"  {timeline}" for timeline in self.missed)
        yield f"exit codes: {_listed(self.exits)}"


def count(query: str) -> dict[str, int]:
    with connection.cursor() as cursor:
        cursor.execute(query)
        return dict(sorted(cursor.fetchall()))


def check_kills(plan: Plan, injector: FaultInjector) -> Finding:
    wanted = Counter(str(planned_fault.what) for planned_fault in plan.planned_faults)
    done = injector.kills + injector.disruptions
    missing = [
        f"{what}: {done[what]} of {many}" for what, many in wanted.items() if done[what] < many
    ]
    return Finding("kills", "every kill that was planned has happened", missing)


def check_servers(proxy: Mapping[str, Any]) -> Finding:
    """Responses that crossed the proxy, to clients and to vendors."""
    wrong = [
        f"{many} × {status} {line}"
        for line, counts in proxy.items()
        for status, many in counts["statuses"].items()
        if status.startswith("5") and status not in {"502", "503"}
    ]
    return Finding("no 500", "nobody, vendors included, is ever answered 500", wrong)


def check_logs(others: Counts) -> Finding:
    wrong = [f"{many} × {kind}" for kind, many in others.items()]
    return Finding("logs", "no error is logged but those that a kill explains", wrong)


def check_deadlocks(many: int) -> Finding:
    wrong = [f"{many} of them"] if many else []
    return Finding("deadlocks", "locks are taken in one order: no two transactions deadlock", wrong)


def _listed(counts: Counts) -> str:
    return ", ".join(f"{name} {many}" for name, many in counts.items()) or "none"
