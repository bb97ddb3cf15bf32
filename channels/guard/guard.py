"""The guard: judges a send by the evidence of its scopes, and collects that evidence."""

from dataclasses import dataclass, field

from channels.guard.evidence import Evidence
from channels.guard.scopes import CUTS, Scope, ScopeKind, scopes_of
from channels.guard.steps import GuardStep
from channels.routing.smart.decay import DAY, HOUR

PROMPT = 60.0  # seconds within which a delivery must come to be evidence
SCORE = 10.0  # log likelihood ratio below which nothing is done
DOUBT = 0.99
EXCESS = ((GuardStep.REFUSE, 176.0), (GuardStep.CHALLENGE, 144.0), (GuardStep.CHEAP_ONLY, 96.0))
FIRST_REFUSAL, LONGEST_REFUSAL = HOUR, 24 * HOUR
PENDING = {ScopeKind.COUNTRY: 24.0, ScopeKind.RANGE: 14.0}
PENDING_SMALL = 8.0  # in smaller scopes, before any right code
GREATEST_NORM, LEAST_NORM, FIRST_NORM = 0.95, 0.3, 0.8
SWEEP = 6 * HOUR


@dataclass(frozen=True, slots=True)
class Verdict:
    step: GuardStep
    scopes: tuple[Scope, ...]
    scope: Scope | None = None  # the one at fault
    until: float | None = None
    excess: float = 0.0  # tokens lost in it
    rule: str = ""


@dataclass(slots=True)
class Case:
    """A send whose outcome is awaited."""

    scopes: tuple[Scope, ...]
    tokens: float = 0.0
    is_pending: bool = False
    is_missed: bool = False


@dataclass(slots=True)
class Guard:
    maturity: float = 30.0  # seconds from a delivery until a code not entered counts as missed
    found: dict[Scope, Evidence] = field(default_factory=dict)
    company: Evidence = field(default_factory=lambda: Evidence(0.0))
    _swept_at: float = 0.0

    def judge(
        self,
        now: float,
        phone: str,
        country: str,
        ip: str = "",
        verified_at: float | None = None,
        *,
        device: str = "",
        trusted: bool = False,
    ) -> Verdict:
        """`verified_at`: the phone's first right code. Who had one a day ago passes every step,
        who had one since or is trusted passes all but a refusal.
        """
        scopes = scopes_of(phone, country, ip, device)
        if verified_at is not None and now - verified_at > DAY:
            return Verdict(GuardStep.ALLOW, scopes, rule="verified_before")
        worst = Verdict(GuardStep.ALLOW, scopes)
        parent = self._company_norm(now)
        for scope in scopes:
            evidence = self.found.get(scope)
            if evidence is None:
                continue
            one = self._judge_scope(now, scopes, scope, evidence, parent)
            if one.step > worst.step:
                worst = one
            parent = self._next_norm(now, scope, evidence, parent)
        if worst.step is not GuardStep.REFUSE and (trusted or verified_at is not None):
            return Verdict(GuardStep.ALLOW, scopes, rule="trusted")
        return worst

    def _judge_scope(
        self, now: float, scopes: tuple[Scope, ...], scope: Scope, evidence: Evidence, parent: float
    ) -> Verdict:
        if now < evidence.refused_until:
            until = evidence.refused_until
            return Verdict(GuardStep.REFUSE, scopes, scope, until, evidence.tokens, "refused")
        evidence.fade(now)
        excess = evidence.excess(parent)
        step = next((step for step, least in EXCESS if excess >= least), GuardStep.ALLOW)
        if step and evidence.score >= SCORE and evidence.doubt(parent) > DOUBT:
            ends: float | None = None
            if step is GuardStep.REFUSE:
                ends = now + min(LONGEST_REFUSAL, FIRST_REFUSAL * 4**evidence.refusals)
                evidence.refused_until = ends
                evidence.refusals += 1
            return Verdict(step, scopes, scope, ends, excess, "unverified")
        if evidence.pending > self._pending_allowed(scope, evidence):
            return Verdict(GuardStep.CHEAP_ONLY, scopes, scope, None, excess, "pending")
        return Verdict(GuardStep.ALLOW, scopes)

    @staticmethod
    def _pending_allowed(scope: Scope, evidence: Evidence) -> float:
        return PENDING.get(scope.kind, PENDING_SMALL) + 2.0 * evidence.norm.hits

    # --- Evidence ---

    def opened(self, now: float, verdict: Verdict) -> Case:
        self._sweep(now)
        return Case(verdict.scopes)

    def delivered(self, now: float, case: Case, tokens: float, after: float) -> None:
        if after > PROMPT:
            return
        case.tokens, case.is_pending = tokens, True
        for evidence in self._of(now, case):
            evidence.pending += 1

    def matured(self, now: float, case: Case) -> None:
        """No right code in time; a later one corrects it."""
        if not case.is_pending:
            return
        case.is_pending, case.is_missed = False, True
        parent = self._company_norm(now)
        self.company.norm.add(now, trials=1.0)
        for scope, evidence in zip(case.scopes, self._of(now, case), strict=True):
            evidence.pending -= 1
            evidence.missed(now, case.tokens, parent)
            parent = self._next_norm(now, scope, evidence, parent)

    def verified(self, now: float, case: Case) -> None:
        parent = self._company_norm(now)
        corrects = case.tokens if case.is_missed else None
        self.company.norm.add(now, trials=0.0 if case.is_missed else 1.0, hits=1.0)
        for scope, evidence in zip(case.scopes, self._of(now, case), strict=True):
            if case.is_pending:
                evidence.pending -= 1
            evidence.hit(now, parent, corrects=corrects)
            parent = self._next_norm(now, scope, evidence, parent)
        case.is_pending = case.is_missed = False

    def _of(self, now: float, case: Case) -> list[Evidence]:
        return [self.found.setdefault(scope, Evidence(now)) for scope in case.scopes]

    def _company_norm(self, now: float) -> float:
        return _bounded(self.company.usual(now, FIRST_NORM))

    def _next_norm(self, now: float, scope: Scope, evidence: Evidence, parent: float) -> float:
        """The norm of the next smaller range; addresses are held to the company's."""
        if scope.kind is CUTS[-1][0]:
            return self._company_norm(now)
        return parent if scope.kind is ScopeKind.IP else _bounded(evidence.usual(now, parent))

    def _sweep(self, now: float) -> None:
        """Forgets scopes that have nothing to say any more."""
        if now - self._swept_at < SWEEP:
            return
        self._swept_at = now
        self.found = {
            scope: one
            for scope, one in self.found.items()
            if one.pending
            or now - one.at < DAY
            or one.refusals
            or scope.kind in {ScopeKind.COUNTRY, ScopeKind.RANGE}
        }


def _bounded(norm: float) -> float:
    return min(GREATEST_NORM, max(LEAST_NORM, norm))
