"""The guard: judges a send by the evidence of its scopes, and collects that evidence."""

import math
from dataclasses import dataclass, field
from enum import IntEnum

from channels.guard.scope_evidence import (
    NORM_STRENGTH,
    GuardScope,
    ScopeEvidence,
    ScopeKind,
    scopes_of,
)
from channels.routing.smart.decay import DAY, HOUR


class GuardStep(IntEnum):
    """The guard's responses to a send, mildest first."""

    ALLOW = 0
    CHEAP_ONLY = 1  # only by messengers, which earn an attacker nothing
    CHALLENGE = 2
    REFUSE = 3


MAX_DELIVERY_SECONDS = 60.0  # seconds within which a delivery must come to be evidence
MATURITY = 30.0  # seconds after its delivery at which a code that was not entered counts as missed
# Logarithms; either suffices. MIN_CERTAINTY: the share is below half the norm, shown by few codes.
# MIN_ODDS: a higher share, of an attack among people or one that enters codes, needs more codes.
MIN_CERTAINTY = math.log(100.0)
MIN_ODDS = math.log(200.0)
REFUSE_LOSS = 176.0  # tokens
CHALLENGE_LOSS = 144.0
CHEAP_ONLY_LOSS = 96.0
STEP_LOSSES = (
    (GuardStep.REFUSE, REFUSE_LOSS),
    (GuardStep.CHALLENGE, CHALLENGE_LOSS),
    (GuardStep.CHEAP_ONLY, CHEAP_ONLY_LOSS),
)
FIRST_REFUSAL = HOUR
MAX_REFUSAL = 24 * HOUR
# Otherwise an attack on numbers in use would keep their people out long after its end.
MAX_REFUSAL_AMONG_PEOPLE = 4 * HOUR
MAX_PENDING = {ScopeKind.COUNTRY: 24.0, ScopeKind.RANGE: 14.0}
MAX_PENDING_NARROW = 8.0  # in smaller scopes, before any correct code
# The part of the usual evidence that suffices for watched numbers where no people have been seen.
WATCHED_RATIO = 0.5
# Only these scopes are held back if nearly all losses around them occurred in them.
NARROW_SCOPES = {ScopeKind.THOUSAND, ScopeKind.HUNDRED, ScopeKind.IP, ScopeKind.DEVICE}
MAX_NORM = 0.95
MIN_NORM = 0.3
FIRST_NORM = 0.8
SWEEP_INTERVAL = 6 * HOUR
KNOWN_PHONE_RULE = "verified_before"  # the rule of phones that pass every step


@dataclass(frozen=True, slots=True)
class Assessment:
    step: GuardStep
    scopes: tuple[GuardScope, ...]
    scope: GuardScope | None = None  # the scope at fault
    until: float | None = None
    excess: float = 0.0  # tokens lost in the scope
    rule: str = ""
    hits: float = 0.0  # the correct codes and misses behind the judgement
    misses: float = 0.0
    is_early: bool = False  # the losses suffice only because of an attack elsewhere


@dataclass(slots=True)
class PendingCode:
    """A code whose outcome is not known yet.

    Sends to known phones are no evidence: they always pass, and their many correct codes would hide
    an attack on neighbouring numbers.
    """

    scopes: tuple[GuardScope, ...]
    is_evidence: bool = True
    tokens: float = 0.0
    is_pending: bool = False
    is_missed: bool = False
    is_entered: bool = False  # once entered, a later receipt says nothing more


@dataclass(slots=True)
class Guard:
    evidence: dict[GuardScope, ScopeEvidence] = field(default_factory=dict)
    company: ScopeEvidence = field(default_factory=lambda: ScopeEvidence(0.0))
    watched: set[GuardScope] = field(default_factory=set)  # scopes under attack elsewhere
    _swept_at: float = 0.0

    def assess(
        self,
        now: float,
        phone: str,
        country: str,
        ip: str = "",
        *,
        device: str = "",
        is_known: bool = False,
    ) -> Assessment:
        """Assesses a send. `is_known` (`PhoneHistory`): the phone passes every step."""
        scopes = scopes_of(phone, country, ip, device)
        if is_known:
            return Assessment(GuardStep.ALLOW, scopes, rule=KNOWN_PHONE_RULE)
        assessments = [Assessment(GuardStep.ALLOW, scopes), *self.assessments(now, scopes)]
        # `max` returns the first of the strictest ones, which is the widest.
        return max(assessments, key=lambda assessment: assessment.step)

    def assessments(self, now: float, scopes: tuple[GuardScope, ...]) -> list[Assessment]:
        """Assessments for each scope with evidence, widest first. `scopes` are those of one phone.

        The narrowest scope is assessed first: losses in it must not hold back the people around it.
        """
        assessments: list[Assessment] = []
        of_scopes = [(scope, self.evidence[scope]) for scope in scopes if scope in self.evidence]
        usual_rate = self._usual_rate(now)
        for index, (scope, evidence) in reversed(list(enumerate(of_scopes))):
            assessment = self._assess_scope(now, scopes, scope, evidence, usual_rate)
            if assessment.step >= GuardStep.CHALLENGE and scope.kind in NARROW_SCOPES:
                self._set_apart(evidence, [wider for _scope, wider in of_scopes[:index]])
            assessments.append(assessment)
        for (_scope, evidence), assessment in zip(of_scopes, assessments[::-1], strict=True):
            if assessment.step is GuardStep.REFUSE and assessment.rule == "unverified":
                evidence.discount()
        return assessments[::-1]

    @staticmethod
    def _set_apart(evidence: ScopeEvidence, wider: list[ScopeEvidence]) -> None:
        if evidence.is_apart:
            return
        evidence.is_apart = True
        for outer in wider:
            if outer.is_explained_by(evidence):
                outer.subtract(evidence)

    def _assess_scope(
        self,
        now: float,
        scopes: tuple[GuardScope, ...],
        scope: GuardScope,
        evidence: ScopeEvidence,
        usual_rate: float,
    ) -> Assessment:
        if now < evidence.refused_until:
            until = evidence.refused_until
            counts = evidence.hits, evidence.misses
            return Assessment(
                GuardStep.REFUSE, scopes, scope, until, evidence.tokens, "refused", *counts
            )
        evidence.fade(now)
        excess = evidence.excess(usual_rate)
        is_again = evidence.refusals and not evidence.has_people
        if is_again or (excess >= CHALLENGE_LOSS and not self._has_people(scope, scopes)):
            excess += evidence.awaited_tokens
        step = own_step = self._step(evidence, usual_rate, excess)
        if own_step < GuardStep.CHALLENGE and self._is_watched(scope, scopes):
            sooner = self._step(evidence, usual_rate, excess, needed=WATCHED_RATIO)
            step = min(sooner, GuardStep.CHALLENGE)  # only losses of this scope refuse
        if step:
            ends: float | None = None
            if step is GuardStep.REFUSE:
                longest = MAX_REFUSAL_AMONG_PEOPLE if evidence.has_people else MAX_REFUSAL
                ends = now + min(longest, FIRST_REFUSAL * 4 ** min(evidence.refusals, 3))
                evidence.refused_until = ends
                evidence.refusals += 1
            counts = evidence.hits, evidence.misses
            return Assessment(
                step, scopes, scope, ends, excess, "unverified", *counts, is_early=step > own_step
            )
        if evidence.pending > self._pending_allowed(scope, evidence):
            return Assessment(
                GuardStep.CHEAP_ONLY, scopes, scope, None, excess, "pending", 0.0, evidence.pending
            )
        return Assessment(GuardStep.ALLOW, scopes, scope)

    def _has_people(self, scope: GuardScope, scopes: tuple[GuardScope, ...]) -> bool:
        """Whether this scope or a wider one has people."""
        evidence_of_each = [self.evidence.get(wider) for wider in scopes[: scopes.index(scope) + 1]]
        return any(evidence is not None and evidence.has_people for evidence in evidence_of_each)

    @staticmethod
    def _step(
        evidence: ScopeEvidence, usual_rate: float, excess: float, *, needed: float = 1.0
    ) -> GuardStep:
        """The step for this evidence. `needed` scales the tokens and the certainty that a step
        requires.
        """
        step = next(
            (step for step, least in STEP_LOSSES if excess >= needed * least), GuardStep.ALLOW
        )
        is_likely = evidence.odds(usual_rate) > needed * MIN_ODDS
        is_certain = evidence.certainty(usual_rate) > needed * MIN_CERTAINTY
        return step if is_likely or is_certain else GuardStep.ALLOW

    def _is_watched(self, scope: GuardScope, scopes: tuple[GuardScope, ...]) -> bool:
        """Whether this scope or a wider one is watched, and this company has seen no people there.

        Addresses and devices are never watched: other companies' evidence does not cover them.
        """
        if not self.watched or scope.kind in {ScopeKind.IP, ScopeKind.DEVICE}:
            return False
        watched = [wider for wider in scopes[: scopes.index(scope) + 1] if wider in self.watched]
        return any(
            wider not in self.evidence or not self.evidence[wider].has_people for wider in watched
        )

    @staticmethod
    def _pending_allowed(scope: GuardScope, evidence: ScopeEvidence) -> float:
        return MAX_PENDING.get(scope.kind, MAX_PENDING_NARROW) + 2.0 * evidence.norm.hits

    # --- Evidence ---

    def open_code(self, now: float, assessment: Assessment) -> PendingCode:
        self._sweep(now)
        return PendingCode(assessment.scopes, is_evidence=assessment.rule != KNOWN_PHONE_RULE)

    def record_delivery(self, now: float, code: PendingCode, tokens: float, after: float) -> None:
        if after > MAX_DELIVERY_SECONDS or code.is_entered or not code.is_evidence:
            return
        code.tokens = tokens
        code.is_pending = True
        self.add_pending(now, code.scopes)

    def record_timeout(self, now: float, code: PendingCode, *, is_counted: bool = True) -> None:
        """Records that no correct code came in time; a later one corrects it. `is_counted`: see
        `PhoneHistory`.
        """
        if not code.is_pending:
            return
        self._no_longer_pending(now, code)
        if is_counted:
            code.is_missed = True
            self.record_miss(now, code.scopes, code.tokens)

    def record_verification(self, now: float, code: PendingCode) -> None:
        if not code.is_evidence:
            return
        self._no_longer_pending(now, code)
        self.record_hit(now, code.scopes, corrects=code.tokens if code.is_missed else None)
        code.is_missed = False
        code.is_entered = True

    def record_later_entry(self, now: float, code: PendingCode) -> None:
        """Records that the same code was entered from a later message, which shows a person."""
        self._no_longer_pending(now, code)
        if code.is_missed:
            self.undo_miss(now, code.scopes, code.tokens)
        code.is_missed = False
        code.is_entered = True

    def add_pending(self, now: float, scopes: tuple[GuardScope, ...]) -> None:
        """Records a delivered code that may still be entered."""
        for evidence in self._evidence_of(now, scopes):
            evidence.pending += 1

    def record_miss(self, now: float, scopes: tuple[GuardScope, ...], tokens: float) -> None:
        """Records a code that was delivered promptly, charged `tokens`, and not entered in time."""
        usual_rate = self._usual_rate(now)
        evidence_of_each = self._evidence_of(now, scopes)
        is_apart = any(evidence.is_apart for evidence in evidence_of_each)
        if not is_apart:
            self.company.norm.add(now, trials=1.0)
        for scope, evidence in zip(scopes, evidence_of_each, strict=True):
            if not (is_apart and scope.kind not in NARROW_SCOPES and evidence.has_people):
                evidence.record_miss(now, tokens, usual_rate)

    def record_hit(
        self, now: float, scopes: tuple[GuardScope, ...], *, corrects: float | None = None
    ) -> None:
        """Records a correct code. `corrects`: the tokens of an earlier miss that it corrects."""
        usual_rate = self._usual_rate(now)
        self.company.norm.add(now, trials=0.0 if corrects is not None else 1.0, hits=1.0)
        for evidence in self._evidence_of(now, scopes):
            evidence.record_hit(now, usual_rate, corrects=corrects)

    def undo_miss(self, now: float, scopes: tuple[GuardScope, ...], tokens: float) -> None:
        """Takes back a miss: the person entered the same code from a later message."""
        usual_rate = self._usual_rate(now)
        self.company.norm.add(now, trials=-1.0)
        for evidence in self._evidence_of(now, scopes):
            evidence.undo_miss(now, tokens, usual_rate)

    def _no_longer_pending(self, now: float, code: PendingCode) -> None:
        if code.is_pending:
            for evidence in self._evidence_of(now, code.scopes):
                evidence.pending -= 1
        code.is_pending = False

    def _evidence_of(self, now: float, scopes: tuple[GuardScope, ...]) -> list[ScopeEvidence]:
        return [self.evidence.setdefault(scope, ScopeEvidence(now)) for scope in scopes]

    def _usual_rate(self, now: float) -> float:
        """The company's share of correct codes.

        The share of a single scope would fall with the losses that it is meant to judge.
        """
        norm = self.company.norm.hit_rate(now, FIRST_NORM, NORM_STRENGTH)
        return min(MAX_NORM, max(MIN_NORM, norm))

    def _sweep(self, now: float) -> None:
        """Deletes scopes whose evidence has faded."""
        if now - self._swept_at < SWEEP_INTERVAL:
            return
        self._swept_at = now
        self.evidence = {
            scope: evidence
            for scope, evidence in self.evidence.items()
            if evidence.pending
            or now - evidence.at < DAY
            or evidence.refusals
            or scope.kind in {ScopeKind.COUNTRY, ScopeKind.RANGE}
        }
