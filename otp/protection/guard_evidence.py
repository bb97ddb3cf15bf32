"""Counts the outcomes of codes as evidence every two seconds, and judges the affected numbers.

One transaction updates `GuardProgress`, the evidence and the restrictions, so an outcome counts
once even if a worker dies. An attack on one company also counts for the other companies that have
not opted out, without naming the company: a smaller loss of tokens is then enough for a proof of
work, where the company's own people have not been seen. What happened to others never holds back a
send by itself, and never refuses one.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from math import inf

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company
from accounts.purges import delete_rows
from channels.guard.guard import NARROW_SCOPES, Assessment, Guard, GuardStep
from channels.guard.scope_evidence import (
    CUTS,
    NORM_HALF_LIFE,
    GuardScope,
    ScopeEvidence,
    ScopeKind,
    scopes_of,
)
from channels.phone_numbers import country_of
from channels.routing.smart.decay import Counts
from otp.models import GuardEvidence, GuardProgress, GuardRestriction
from otp.protection import code_outcomes, restrictions
from otp.protection.code_outcomes import LAG, CodeOutcome, OutcomeKind
from otp.protection.restrictions import GuardDecision
from storage.sessions import database_now

OF_NUMBERS = [ScopeKind.COUNTRY.value, *(kind.value for kind, _digits in CUTS)]
COUNTS = ("score", "hits", "misses", "tokens", "refusals", "is_apart")
WRITTEN = ["seen_at", "norm_at", "norm_trials", "norm_hits", "refused_until", *COUNTS]
SCOPES_PER_QUERY = 1000
OF_COMPANY = (ScopeKind.COMPANY.value, "")
JOB = Job("guard_evidence", _("evidence of the protection"), is_stream=True)
# After a pause a worker catches up in steps, and skips outcomes too old to matter.
MAX_STEP = timedelta(seconds=20)
MAX_ABSENCE = timedelta(hours=1)
# Numbers and addresses without recent outcomes are deleted; ranges and countries keep their norm.
FORGOTTEN_AFTER = timedelta(days=2)
NORMS_FORGOTTEN_AFTER = timedelta(days=60)
RETENTION = timedelta(days=180)


@dataclass(frozen=True, slots=True)
class AttackedNumbers:
    """Countries and prefixes, with the companies attacked there."""

    companies: Mapping[GuardScope, set[int]]
    opted_out: set[int]

    def watched_by(self, company_id: int) -> set[GuardScope]:
        if company_id in self.opted_out:
            return set()
        return {scope for scope, attacked in self.companies.items() if attacked - {company_id}}


def attacked_numbers() -> AttackedNumbers:
    """The scopes in which codes are held back by a proof of work or a refusal.

    Excludes companies in monitoring mode, where nothing is held back, and companies that hold back
    sooner because of others: two of these would keep each other's restrictions alive.
    """
    rows = GuardRestriction.objects.filter(
        ended_at=None,
        is_enforced=True,
        is_early=False,
        rule=GuardRestriction.Rule.UNVERIFIED,
        step__gte=GuardRestriction.Step.CHALLENGE,
        kind__in=OF_NUMBERS,
    ).values_list("kind", "value", "company_id")
    companies: dict[GuardScope, set[int]] = {}
    for kind, value, company_id in rows:
        companies.setdefault(GuardScope(ScopeKind(kind), value), set()).add(company_id)
    opted_out = (
        Company.objects.filter(guard_watches_others=False) if companies else Company.objects.none()
    )
    return AttackedNumbers(companies, set(opted_out.values_list("pk", flat=True)))


# Named as in `ScopeEvidence`.


def load_guard(company_id: int, scopes: Iterable[GuardScope]) -> Guard:
    """A guard loaded with the known evidence on these scopes of the company."""
    guard = Guard()
    keys = {(scope.kind.value, scope.value) for scope in scopes} | {OF_COMPANY}
    for row in _stored_evidence(company_id, sorted(keys)):
        evidence = ScopeEvidence(
            at=row.seen_at.timestamp(),
            norm=Counts(
                NORM_HALF_LIFE, row.norm_at.timestamp(), trials=row.norm_trials, hits=row.norm_hits
            ),
            refused_until=-inf if row.refused_until is None else row.refused_until.timestamp(),
            **{name: getattr(row, name) for name in COUNTS},
        )
        if row.kind == ScopeKind.COMPANY:
            guard.company = evidence
        else:
            guard.evidence[GuardScope(ScopeKind(row.kind), row.value)] = evidence
    return guard


def _stored_evidence(company_id: int, keys: list[tuple[str, str]]) -> Iterable[GuardEvidence]:
    for start in range(0, len(keys), SCOPES_PER_QUERY):
        by_kind: dict[str, list[str]] = {}
        for kind, value in keys[start : start + SCOPES_PER_QUERY]:
            by_kind.setdefault(kind, []).append(value)
        any_of = Q()
        for kind, values in by_kind.items():
            any_of |= Q(kind=kind, value__in=values)
        yield from GuardEvidence.objects.filter(any_of, company=company_id)


def save_evidence(
    company_id: int,
    guard: Guard,
    touched: Iterable[GuardScope],
    countries: Mapping[GuardScope, str],
) -> None:
    """Saves the evidence; `GuardProgress` is locked, so one process writes a company's rows."""
    rows = [
        _evidence_row(
            company_id,
            scope.kind.value,
            scope.value,
            guard.evidence[scope],
            countries.get(scope, ""),
        )
        for scope in touched
        if scope in guard.evidence
    ]
    rows.append(_evidence_row(company_id, *OF_COMPANY, guard.company, ""))
    GuardEvidence.objects.bulk_create(
        rows,
        batch_size=SCOPES_PER_QUERY,
        update_conflicts=True,
        unique_fields=["company", "kind", "value"],
        update_fields=WRITTEN,
    )


def _evidence_row(
    company_id: int, kind: str, value: str, evidence: ScopeEvidence, country: str
) -> GuardEvidence:
    return GuardEvidence(
        company_id=company_id,
        kind=kind,
        value=value,
        country=country,
        seen_at=_time(max(evidence.at, evidence.norm.at)),
        norm_at=_time(evidence.norm.at),
        norm_trials=evidence.norm.trials,
        norm_hits=evidence.norm.hits,
        refused_until=None if evidence.refused_until == -inf else _time(evidence.refused_until),
        **{name: getattr(evidence, name) for name in COUNTS},
    )


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)


def count() -> None:
    """Counts the outcomes until now. Returns at once while another worker counts."""
    until = database_now() - LAG
    while _count_step(until):
        pass
    restrictions.add_stopped_counts()


def _count_step(until: datetime) -> bool:
    """Counts the next outcomes; returns whether more are left."""
    with transaction.atomic():
        # None if another worker has it; counting starts with the outcomes after `until`.
        GuardProgress.objects.bulk_create(
            [GuardProgress(pk=GuardProgress.ONLY, counted_until=until)], ignore_conflicts=True
        )
        progress = GuardProgress.objects.select_for_update(skip_locked=True).first()
        if progress is None or progress.counted_until >= until:
            return False
        since = max(progress.counted_until, until - MAX_ABSENCE)
        end = min(until, since + MAX_STEP)
        attacked = attacked_numbers()
        decisions = _count(code_outcomes.outcomes(since, end), end, attacked)
        restrictions.update(decisions, end, partial(_re_evaluate, attacked=attacked))
        GuardProgress.objects.filter(pk=GuardProgress.ONLY).update(counted_until=end)
    return end < until


def _count(
    rows: Sequence[CodeOutcome], now: datetime, attacked: AttackedNumbers
) -> list[GuardDecision]:
    """Counts these outcomes; returns the decisions on companies that need restrictions."""
    by_company: dict[int, list[CodeOutcome]] = defaultdict(list)
    for outcome in rows:
        by_company[outcome.code.company_id].append(outcome)
    decisions = JOB.each(
        sorted(by_company),
        lambda company_id: _count_company(company_id, by_company[company_id], now, attacked),
    )
    return [decision for decision in decisions if decision.assessments]


def _count_company(
    company_id: int, outcomes: Sequence[CodeOutcome], now: datetime, attacked: AttackedNumbers
) -> GuardDecision:
    scopes = [
        scopes_of(code.phone, country_of(code.phone), code.ip, code.device)
        for _kind, _at, code in outcomes
    ]
    guard = load_guard(company_id, {scope for each in scopes for scope in each})
    guard.watched = attacked.watched_by(company_id)
    touched: set[GuardScope] = set()
    for outcome, of_code in zip(outcomes, scopes, strict=True):
        _learn(guard, outcome, of_code)
        if outcome.kind is not OutcomeKind.AWAITED:
            touched.update(of_code)
    assessments = _assess(guard, now.timestamp(), dict.fromkeys(scopes))
    countries = {scope: each[0].value for each in scopes for scope in each[1:]}
    if touched or assessments:
        save_evidence(company_id, guard, touched | assessments.keys(), countries)
    return GuardDecision(company_id, assessments, countries)


def _learn(guard: Guard, outcome: CodeOutcome, scopes: tuple[GuardScope, ...]) -> None:
    kind, at, code = outcome
    if kind is OutcomeKind.MISSED:
        guard.record_miss(at, scopes, code.price)
    elif kind is OutcomeKind.ENTERED:
        guard.record_hit(at, scopes)
    elif kind is OutcomeKind.ENTERED_LATE:
        guard.record_hit(at, scopes, corrects=code.price)
    elif kind is OutcomeKind.EXCUSED:
        guard.undo_miss(at, scopes, code.price)
    else:
        guard.add_pending(at, scopes)


def _assess(
    guard: Guard, now: float, scope_chains: Iterable[tuple[GuardScope, ...]]
) -> dict[GuardScope, Assessment]:
    """The assessments of scopes, except where a wider scope is as strict already.

    The worst of the narrow scopes are assessed first, and their evidence is subtracted from the
    wider ones.
    """
    assessed: dict[GuardScope, Assessment] = {}
    strict: dict[GuardScope, Assessment] = {}
    chains = sorted(
        scope_chains, key=lambda scopes: _tokens_of_smallest(guard, scopes), reverse=True
    )
    for scopes in chains:
        if not all(scope in assessed for scope in scopes):  # wide scopes are shared by many sends
            for assessment in guard.assessments(now, scopes):
                if assessment.scope is not None:
                    assessed.setdefault(assessment.scope, assessment)
    for scopes in chains:
        widest = GuardStep.ALLOW
        for scope in scopes:
            of_scope = assessed.get(scope)
            if of_scope is not None and of_scope.step > widest:
                widest = of_scope.step
                strict[scope] = of_scope
    return strict


def _tokens_of_smallest(guard: Guard, scopes: tuple[GuardScope, ...]) -> float:
    small = [scope for scope in scopes if scope.kind in NARROW_SCOPES and scope in guard.evidence]
    return max((guard.evidence[scope].tokens for scope in small), default=0.0)


def _re_evaluate(
    restriction: GuardRestriction, now: datetime, *, attacked: AttackedNumbers
) -> GuardDecision:
    """The decision about an expired restriction, which lasts as long as its evidence."""
    scopes = restrictions.scopes_of_restriction(restriction)
    guard = load_guard(restriction.company_id, scopes)
    guard.watched = attacked.watched_by(restriction.company_id)
    assessments = _assess(guard, now.timestamp(), [scopes])
    countries = dict.fromkeys(scopes[1:], restriction.country)
    save_evidence(restriction.company_id, guard, assessments, countries)
    return GuardDecision(restriction.company_id, assessments, countries)


def purge(limit: int) -> int:
    """Deletes faded evidence and restrictions that ended long ago; returns the number of rows."""
    now = timezone.now()
    norms = [ScopeKind.COMPANY, ScopeKind.COUNTRY, ScopeKind.RANGE]
    old = GuardEvidence.objects.filter(seen_at__lt=now - FORGOTTEN_AFTER)
    faded = old.exclude(kind__in=norms) | old.filter(seen_at__lt=now - NORMS_FORGOTTEN_AFTER)
    count = delete_rows(faded, limit)
    ended = GuardRestriction.objects.filter(ended_at__isnull=False, began_at__lt=now - RETENTION)
    return count + delete_rows(ended, limit) + _forget_senders(now - FORGOTTEN_AFTER, limit)


def _forget_senders(before: datetime, limit: int) -> int:
    """Removes the hashes of addresses and devices from ended restrictions."""
    hashed = GuardRestriction.objects.filter(
        kind__in=[ScopeKind.IP, ScopeKind.DEVICE], ended_at__lt=before
    ).exclude(value="")
    rows = GuardRestriction.objects.filter(pk__in=hashed.values("pk")[:limit])
    return int(rows.update(value=""))
