"""Checks every invariant and reports violations."""

from collections.abc import Iterator
from dataclasses import dataclass, field

from django.db import connection

from tools.chaos.checks.invariants import CHECKS, PROVABLE, TIMELINE, UNCHARGED, Check

UNCHARGED_SHARE = 0.001  # of messages whose delivery could have been proved


@dataclass
class Finding:
    """One invariant and its violations."""

    check: str
    promise: str
    subjects: list[str] = field(default_factory=list)

    @property
    def is_kept(self) -> bool:
        return not self.subjects


def check_invariants() -> Iterator[Finding]:
    """Every check on the tables of `external_records`; the reconciliation as well."""
    for check in CHECKS:
        yield Finding(check.name, check.promise, violations(check))
    yield Finding("reconcile", "the service's own reconciliation finds nothing", breaches())
    yield check_uncharged(uncharged())


def breaches() -> list[str]:
    """Of the whole history, against its seals too."""
    from channels import full_reconciliation  # noqa: PLC0415 - models need Django set up

    return [f"{one.check}: {one.subject}" for one in full_reconciliation.breaches()]


def violations(check: Check) -> list[str]:
    with connection.cursor() as cursor:
        cursor.execute(check.query)
        return sorted({subject for (subject,) in cursor.fetchall()})


def uncharged() -> dict[str, str]:
    """Message → why it was not charged."""
    with connection.cursor() as cursor:
        cursor.execute(UNCHARGED)
        return dict(cursor.fetchall())


def provable_timelines(found: dict[str, str]) -> list[str]:
    """Timelines of uncharged deliveries that could have been proved."""
    return [f"{message} {_timeline(message)}" for message, why in found.items() if why == PROVABLE]


def _timeline(message: str) -> str:
    with connection.cursor() as cursor:
        cursor.execute(TIMELINE, [message])
        (timeline,) = cursor.fetchone()
        return str(timeline)


def check_uncharged(found: dict[str, str]) -> Finding:
    promise = f"of deliveries that can be proved at most {UNCHARGED_SHARE:.1%} are free"
    free = provable_timelines(found)
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM channels_message")
        (messages,) = cursor.fetchone()
    is_kept = len(free) <= UNCHARGED_SHARE * messages
    return Finding("uncharged", promise, [] if is_kept else free)
