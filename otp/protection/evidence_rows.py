"""Reads and writes the evidence of scopes: rows between two looks, numbers while it is judged."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from math import inf

from django.db.models import Q

from channels.guard.evidence import NORM_HALF_LIFE, Evidence
from channels.guard.guard import Guard
from channels.guard.scopes import Scope
from channels.guard.scopes import ScopeKind as GuardScopeKind
from channels.routing.smart.decay import Counts
from otp.models import GuardEvidence, ScopeKind

WRITTEN = (
    "seen_at", "score", "hits", "misses", "tokens", "norm_at", "norm_trials", "norm_hits",
    "refusals", "refused_until", "is_apart",
)  # fmt: skip
BATCH = 1000  # scopes that one query looks for
OF_COMPANY = (ScopeKind.COMPANY.value, "")


def load(company_id: int, scopes: Iterable[Scope]) -> Guard:
    """A guard that knows these scopes of the company, as far as anything is known of them."""
    guard = Guard()
    wanted = {(scope.kind.value, scope.value) for scope in scopes} | {OF_COMPANY}
    for row in _rows(company_id, sorted(wanted)):
        evidence = _evidence(row)
        if row.kind == ScopeKind.COMPANY:
            guard.company = evidence
        else:
            guard.found[Scope(GuardScopeKind(row.kind), row.value)] = evidence
    return guard


def _rows(company_id: int, wanted: list[tuple[str, str]]) -> Iterable[GuardEvidence]:
    for start in range(0, len(wanted), BATCH):
        by_kind: dict[str, list[str]] = {}
        for kind, value in wanted[start : start + BATCH]:
            by_kind.setdefault(kind, []).append(value)
        any_of = Q()
        for kind, values in by_kind.items():
            any_of |= Q(kind=kind, value__in=values)
        yield from GuardEvidence.objects.filter(any_of, company=company_id)


def save(
    company_id: int, guard: Guard, touched: Iterable[Scope], countries: Mapping[Scope, str]
) -> None:
    """The rows of one company are written by one process at a time: `GuardProgress` is locked."""
    rows = [
        _row(
            company_id, scope.kind.value, scope.value, guard.found[scope], countries.get(scope, "")
        )
        for scope in touched
        if scope in guard.found
    ]
    rows.append(_row(company_id, *OF_COMPANY, guard.company, ""))
    GuardEvidence.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["company", "kind", "value"],
        update_fields=list(WRITTEN),
    )


def _evidence(row: GuardEvidence) -> Evidence:
    return Evidence(
        at=row.seen_at.timestamp(),
        norm=Counts(
            NORM_HALF_LIFE, row.norm_at.timestamp(), trials=row.norm_trials, hits=row.norm_hits
        ),
        score=row.score,
        hits=row.hits,
        misses=row.misses,
        tokens=row.tokens,
        refusals=row.refusals,
        refused_until=-inf if row.refused_until is None else row.refused_until.timestamp(),
        is_apart=row.is_apart,
    )


def _row(company_id: int, kind: str, value: str, one: Evidence, country: str) -> GuardEvidence:
    return GuardEvidence(
        company_id=company_id,
        kind=kind,
        value=value,
        country=country,
        seen_at=_time(max(one.at, one.norm.at)),
        score=one.score,
        hits=one.hits,
        misses=one.misses,
        tokens=one.tokens,
        norm_at=_time(one.norm.at),
        norm_trials=one.norm.trials,
        norm_hits=one.norm.hits,
        refusals=one.refusals,
        refused_until=None if one.refused_until == -inf else _time(one.refused_until),
        is_apart=one.is_apart,
    )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
