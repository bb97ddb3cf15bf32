"""Opens, renews, ends and lifts restrictions of scopes.

Open restrictions are copied into the company's row, which its keys carry, so that a send needs no
query for them (`docs/decisions/0013-settings-in-the-company-row.md`).
"""

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext_lazy as _
from redis.exceptions import RedisError

from accounts.audit import record
from accounts.jobs import Job
from accounts.keys.api_keys import evict_keys
from accounts.models import Company, GuardMode, User
from channels.guard.guard import Assessment, GuardStep
from channels.guard.scope_evidence import CUTS, GuardScope, ScopeKind, scopes_of
from otp.models import GuardEvidence, GuardProgress, GuardRestriction
from otp.protection import notifications, week_reports
from storage.redis_client import redis_client

log = structlog.get_logger(__name__)

JOB = Job("guard_restrictions", _("restrictions of the protection"), is_stream=True)
# How long a restriction by each rule lasts without a new assessment; a refusal sets its own end.
LIFETIMES = {"unverified": timedelta(minutes=15), "pending": timedelta(minutes=2)}
LIFTED_FOR = timedelta(hours=1)
PREFIXES = dict(CUTS)
STOPPED_KEY = "guard:stopped"  # Redis key of the sends held back since the last run, by restriction
MAX_PUBLISHED = 500  # restrictions copied into the company's row, at most


@dataclass(frozen=True, slots=True)
class GuardDecision:
    """The guard's decisions on a company's scopes."""

    company_id: int
    assessments: Mapping[GuardScope, Assessment]
    countries: Mapping[GuardScope, str]  # country of the prefixes


ReEvaluate = Callable[[GuardRestriction, datetime], GuardDecision]


def update(decisions: Iterable[GuardDecision], now: datetime, re_evaluate: ReEvaluate) -> None:
    """Opens, renews and ends restrictions in the caller's transaction, which holds `GuardProgress`.

    Locks all companies at once and in order, like all code that locks decisions.
    """
    strict = {decision.company_id: decision for decision in decisions}
    expired = GuardRestriction.objects.filter(ended_at=None, until__lte=now)
    due = set(expired.values_list("company_id", flat=True))
    rows = Company.objects.filter(pk__in=due | strict.keys()).order_by("pk")

    def restrict(company: Company) -> None:
        decision = strict.get(company.pk)
        if decision is not None and company.guard_mode != GuardMode.OFF:
            _apply(company, decision, now)
        if company.pk in due:
            _review(company, now, re_evaluate)
        publish(company)

    JOB.each(rows.select_for_update(no_key=True), restrict)


def _apply(company: Company, decision: GuardDecision, now: datetime) -> None:
    """Creates a restriction for each of these scopes, or updates the open one to its assessment."""
    rows = list(GuardRestriction.objects.select_for_update().filter(company=company, ended_at=None))
    open_now = {(row.kind, row.value): row for row in rows}
    strictest = max((row.step for row in rows if _is_attack(row)), default=0)
    for scope, assessment in decision.assessments.items():
        country = decision.countries.get(scope, "")
        if any(_lets_through(row, scope, country) for row in rows):
            continue
        restriction = open_now.get((scope.kind.value, scope.value)) or GuardRestriction(
            company=company,
            kind=scope.kind.value,
            value=scope.value,
            country=country,
            is_enforced=company.guard_mode == GuardMode.ENFORCE,
            began_at=now,
        )
        step = restriction.step if _is_attack(restriction) else 0
        _renew(restriction, assessment, now)
        if _is_attack(restriction) and _is_news(step, restriction.step):
            _announce(restriction, now, by_mail=_is_news(strictest, restriction.step))
            strictest = max(strictest, restriction.step)


def _is_attack(row: GuardRestriction) -> bool:
    return row.rule == GuardRestriction.Rule.UNVERIFIED


def _is_news(before: int | None, step: int) -> bool:
    """Whether to announce the step: the first step and the refusal are announced."""
    return not before or (step == GuardRestriction.Step.REFUSE and before < step)


def _lets_through(row: GuardRestriction, scope: GuardScope, country: str) -> bool:
    """Whether a member let this scope or a wider one through."""
    if row.step != GuardRestriction.Step.ALLOW:
        return False
    if row.kind == ScopeKind.COUNTRY and scope.kind in PREFIXES:
        return row.value == country
    if scope.kind in PREFIXES and ScopeKind(row.kind) in PREFIXES:
        return scope.value.startswith(row.value)
    return (row.kind, row.value) == (scope.kind.value, scope.value)


def _review(company: Company, now: datetime, re_evaluate: ReEvaluate) -> None:
    """Ends expired restrictions, or extends them while the evidence lasts."""
    expired = GuardRestriction.objects.filter(company=company, ended_at=None, until__lte=now)
    for restriction in expired.order_by("pk"):
        scope = scope_of(restriction)
        if restriction.step != GuardRestriction.Step.ALLOW and company.guard_mode != GuardMode.OFF:
            decision = re_evaluate(restriction, now)
            if scope in decision.assessments:
                _renew(restriction, decision.assessments[scope], now)
                continue
        GuardRestriction.objects.filter(pk=restriction.pk).update(ended_at=restriction.until)


def _announce(restriction: GuardRestriction, now: datetime, *, by_mail: bool) -> None:
    """Logs the restriction and emits its event; `by_mail` also posts an e-mail.

    Of the scopes in which an attack shows, only the first one gets an e-mail.
    """
    log.warning(
        "guard_restriction",
        company=restriction.company_id,
        scope=restriction.kind,
        step=GuardStep(restriction.step).name.lower(),
    )
    notifications.emit_event(restriction, at=now)
    if by_mail:
        notifications.post(restriction)


def _renew(restriction: GuardRestriction, assessment: Assessment, now: datetime) -> None:
    """Applies the assessment to the restriction, and writes it if something changes.

    An attack is assessed every two seconds.
    """
    rule = "pending" if assessment.rule == "pending" else "unverified"
    until = (
        now + LIFETIMES[rule]
        if assessment.until is None
        else datetime.fromtimestamp(assessment.until, UTC)
    )
    stored = restriction.step, restriction.rule, restriction.is_early
    is_fresh = restriction.pk and restriction.until - now > (until - now) / 2
    if stored == (assessment.step.value, rule, assessment.is_early) and is_fresh:
        return
    restriction.step = assessment.step.value
    restriction.is_early = assessment.is_early
    restriction.rule = rule
    restriction.codes = max(restriction.codes or 0, round(assessment.hits + assessment.misses))
    restriction.entered = round(assessment.hits)
    restriction.excess = max(restriction.excess or 0, math.ceil(assessment.excess))
    restriction.until = until
    restriction.save()


@transaction.atomic
def lift(*, restriction: GuardRestriction, user: User, ip: str | None = None) -> None:
    """Lifts a restriction: lets its sends through for an hour, and deletes the evidence."""
    # Locks in the order of `guard_evidence`, which would otherwise write its evidence back.
    list(GuardProgress.objects.select_for_update())
    company = Company.objects.select_for_update(no_key=True).get(pk=restriction.company_id)
    stored = GuardRestriction.objects.select_for_update().get(pk=restriction.pk)
    if stored.ended_at is not None or stored.step == GuardRestriction.Step.ALLOW:
        return
    now = timezone.now()
    _end(stored, now, user)
    _let_through(company, scope_of(stored), stored.country, user, now)
    evidence = GuardEvidence.objects.filter(company=company)
    evidence.filter(kind=stored.kind, value=stored.value).delete()
    if narrower := _narrower_filter(stored):
        evidence.filter(**narrower).delete()
        for row in GuardRestriction.objects.filter(
            company=company, ended_at=None, **narrower
        ).exclude(step=GuardRestriction.Step.ALLOW):
            _end(row, now, user)
    record("guard.lifted", _audit_text(scope_of(stored)), company=company, user=user, ip=ip)
    publish(company)


def _audit_text(scope: GuardScope) -> str:
    """The scope for the audit log, without the hash of an address or device.

    The log outlives a person's data.
    """
    is_hash = scope.kind in {ScopeKind.IP, ScopeKind.DEVICE}
    return scope.kind.value if is_hash else scope.value


def _narrower_filter(row: GuardRestriction) -> dict[str, Any]:
    """A filter for the prefixes within the scope."""
    kinds = [kind.value for kind in PREFIXES]
    if row.kind == ScopeKind.COUNTRY:
        return {"kind__in": kinds, "country": row.value}
    if ScopeKind(row.kind) in PREFIXES:
        return {"kind__in": kinds, "value__startswith": row.value}
    return {}


def _end(restriction: GuardRestriction, now: datetime, user: User) -> None:
    restriction.ended_at = now
    restriction.lifted_by = user
    restriction.save(update_fields=["ended_at", "lifted_by"])


def _let_through(
    company: Company, scope: GuardScope, country: str, user: User, now: datetime
) -> None:
    GuardRestriction.objects.create(
        company=company,
        kind=scope.kind.value,
        value=scope.value,
        country=country,
        step=GuardRestriction.Step.ALLOW,
        rule=GuardRestriction.Rule.LIFTED,
        is_enforced=True,
        began_at=now,
        until=now + LIFTED_FOR,
        lifted_by=user,
    )


@transaction.atomic
def let_through(
    *, company: Company, scope: GuardScope, country: str = "", user: User, ip: str | None = None
) -> None:
    """Lets sends to a prefix (in `country`), or to a country, through for an hour."""
    list(GuardProgress.objects.select_for_update())
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    now = timezone.now()
    existing = GuardRestriction.objects.filter(
        company=stored, kind=scope.kind.value, value=scope.value, ended_at=None
    ).first()
    if existing is not None and existing.step == GuardRestriction.Step.ALLOW:
        GuardRestriction.objects.filter(pk=existing.pk).update(until=now + LIFTED_FOR)
    elif existing is not None:
        lift(restriction=existing, user=user, ip=ip)
        return
    else:
        _let_through(stored, scope, country, user, now)
    record("guard.let_through", _audit_text(scope), company=stored, user=user, ip=ip)
    publish(stored)


@transaction.atomic
def set_mode(*, company: Company, mode: str, user: User, ip: str | None = None) -> bool:
    """Sets the mode; every process follows within two seconds. Returns whether it changed."""
    list(GuardProgress.objects.select_for_update())
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    before = stored.guard_mode
    if before == mode:
        return False
    stored.guard_mode = mode
    stored.save(update_fields=["guard_mode"])
    week_reports.restart(stored, timezone.now())
    open_now = GuardRestriction.objects.filter(company=stored, ended_at=None)
    if mode == GuardMode.OFF:
        open_now.update(ended_at=timezone.now())
    else:
        open_now.exclude(step=GuardRestriction.Step.ALLOW).update(
            is_enforced=mode == GuardMode.ENFORCE
        )
    values = {"guard_mode": [before, mode]}
    record(
        "guard.mode_changed", f"{before} → {mode}", company=stored, user=user, ip=ip, changes=values
    )
    publish(stored)
    return True


@transaction.atomic
def watch_others(*, company: Company, watches: bool, user: User, ip: str | None = None) -> bool:
    """Sets whether attacks on other companies count for this one; returns whether it changed.

    It takes effect within two seconds.
    """
    stored = Company.objects.select_for_update(no_key=True).get(pk=company.pk)
    before = stored.guard_watches_others
    if before == watches:
        return False
    stored.guard_watches_others = watches
    stored.save(update_fields=["guard_watches_others"])
    changes = {"guard_watches_others": [before, watches]}
    record("guard.watches_others", "", company=stored, user=user, ip=ip, changes=changes)
    return True


def publish(company: Company) -> None:
    """Copies the open restrictions into the company's row in the caller's transaction.

    Exceptions come first, then the strictest.
    """
    rows = list(GuardRestriction.objects.filter(company=company, ended_at=None))
    rows.sort(key=lambda row: (row.step != GuardRestriction.Step.ALLOW, -row.step, row.pk))
    published = [
        [row.kind, row.value, row.step, math.ceil(row.until.timestamp()), row.pk]
        for row in rows[:MAX_PUBLISHED]
    ]
    stale = Company.objects.filter(pk=company.pk).exclude(guard_restrictions=published)
    if stale.update(guard_restrictions=published):
        evict_keys(company)


def scope_of(restriction: GuardRestriction) -> GuardScope:
    return GuardScope(ScopeKind(restriction.kind), restriction.value)


def scopes_of_restriction(restriction: GuardRestriction) -> tuple[GuardScope, ...]:
    """The scopes of a restricted number, from its country to the scope of the restriction."""
    scope = scope_of(restriction)
    if scope.kind not in PREFIXES:
        return (scope,)
    scopes = scopes_of(scope.value + "0" * PREFIXES[scope.kind], restriction.country)
    return scopes[: scopes.index(scope) + 1]


def count_stopped(restriction_id: int) -> None:
    """Counts a stopped send in Redis if it is up, so that a refusal writes no row."""
    try:
        redis_client().hincrby(STOPPED_KEY, str(restriction_id), 1)
    except RedisError as error:
        log.warning("guard_stop_not_counted", error=type(error).__name__)


def add_stopped_counts() -> None:
    """Adds the counts in Redis to the restrictions. A crash between the two steps loses a few."""
    try:
        with redis_client().pipeline(transaction=True) as pipe:
            pipe.hgetall(STOPPED_KEY)
            pipe.delete(STOPPED_KEY)
            counts, _deleted = pipe.execute()
    except RedisError:
        return
    for restriction_id, number in counts.items():
        GuardRestriction.objects.filter(pk=int(restriction_id)).update(
            stopped=F("stopped") + int(number)
        )
