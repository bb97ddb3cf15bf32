"""Our policy in virtual time, and the one that knows people's reach and channels' state."""

import heapq
import math
import random
from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import partial
from itertools import accumulate, count

from channels.guard.guard import MATURITY, Assessment, Guard, GuardStep
from channels.guard.scope_evidence import PhoneHistory
from channels.routing.smart.account_balance import AccountBalance
from channels.routing.smart.decay import SECONDS, log_normal_cdf
from channels.routing.smart.plans import Candidate, Curve, Plan, choose, median
from channels.routing.smart.reach import Area, PhoneMemory
from channels.routing.smart.router import Router, Try
from tools.replay.timeline import Outcome, Played, Send, play
from tools.replay.world import SMS, Behaviour, World

SILENT_AFTER = 60.0  # seconds until the last step without proof counts as silent
CLOSED_AFTER = 120.0


@dataclass(slots=True)
class SmartPolicy:
    world: World
    prices: dict[str, int]
    router: Router = field(init=False)
    guard: Guard = field(default_factory=Guard)
    memories: dict[str, PhoneMemory] = field(default_factory=dict)
    histories: dict[str, PhoneHistory] = field(default_factory=dict)
    is_guarded: bool = True
    # When a send of a moment is learned from; None: as things happen.
    learned_at: Callable[[float], float] | None = None
    _events: list[tuple[float, int, Callable[[float], None]]] = field(default_factory=list)
    _numbers: "count[int]" = field(default_factory=count)

    def __post_init__(self) -> None:
        self.router = Router(self.prices)

    def send(self, send: Send, held_out: Plan | None = None) -> tuple[Outcome | None, Assessment]:
        """The outcome, None if the guard refuses the send, and the assessment. A held-out send
        follows the given plan and still teaches.
        """
        self.run_until(send.at)
        person = send.person
        memory = self.memories.setdefault(person.phone, PhoneMemory())
        history = self.histories.setdefault(person.phone, PhoneHistory())
        is_known = history.is_known(send.at)
        assessment = self.guard.assess(
            send.at, person.phone, person.place.country, person.ip, is_known=is_known
        )
        if not self.is_guarded:
            assessment = replace(assessment, step=GuardStep.ALLOW)
        allowed = list(self.prices)
        if assessment.step is GuardStep.REFUSE:
            return None, assessment
        history.record_send(send.at)
        if assessment.step is GuardStep.CHEAP_ONLY and len(allowed) > 1:
            allowed.remove(SMS)
        area = Area(person.place.country, person.place.prefix)
        plan = held_out or self.router.decide(send.at, area, memory, allowed).plan
        accounts = self._accounts(send, area, plan)
        outcome = play(self.world, send, plan, self.prices, accounts)
        learn = partial(self._schedule, send, area, memory, outcome, assessment)
        if self.learned_at is None:
            learn()
        else:
            self._at(self.learned_at(send.at), lambda _at: learn())
        return outcome, assessment

    def run_until(self, now: float) -> None:
        while self._events and self._events[0][0] <= now:
            at, _, act = heapq.heappop(self._events)
            act(at)

    def _at(self, moment: float, act: Callable[[float], None]) -> None:
        if moment < math.inf:
            heapq.heappush(self._events, (moment, next(self._numbers), act))

    def _accounts(self, send: Send, area: Area, plan: Plan) -> dict[str, str]:
        picked = {}
        for step in plan:
            balance = self._balance(area.country, step.channel)
            if balance is not None:
                picked[step.channel] = _pick(balance.shares, send.luck[step.channel].account)
        return picked

    def _balance(self, country: str, channel: str) -> AccountBalance | None:
        items = self.world.accounts.get(channel, ())
        if not items:
            return None
        key = country, channel
        if key not in self.router.accounts:
            self.router.accounts[key] = AccountBalance({row.name: row.share for row in items})
        return self.router.accounts[key]

    def _schedule(
        self, send: Send, area: Area, memory: PhoneMemory, outcome: Outcome, assessment: Assessment
    ) -> None:
        tries = [
            self._schedule_step(send, area, memory, played, n=n, verified=outcome.verified)
            for n, played in enumerate(outcome.steps)
        ]
        arrived = [step for step in outcome.steps if step.receipt <= outcome.verified]
        only_candidate = self._only_candidate(outcome, arrived)
        code = self.guard.open_code(send.at, assessment)
        history = self.histories[send.person.phone]
        proof = min((step.receipt for step in outcome.steps), default=math.inf)
        if proof < math.inf:
            tokens = outcome.tokens
            self._at(
                send.at + proof,
                lambda at: self.guard.record_delivery(at, code, tokens, at - send.at),
            )
            self._at(
                send.at + proof + MATURITY,
                lambda at: self.guard.record_timeout(at, code, is_counted=history.is_counted(at)),
            )

        def verified(at: float) -> None:
            history.record_entry(at)
            self.guard.record_verification(at, code)
            if only_candidate is not None:
                self.router.record_entry(at, tries[only_candidate], memory)

        self._at(send.at + outcome.verified, verified)
        self._schedule_accounts(send, area, outcome)

    def _schedule_accounts(self, send: Send, area: Area, outcome: Outcome) -> None:
        """An account brought the code if it was entered before another channel was asked."""
        following = [*(step.start for step in outcome.steps[1:]), math.inf]
        for played, ends in zip(outcome.steps, following, strict=True):
            balance = self._balance(area.country, played.channel) if played.account else None
            if balance is not None:
                right = outcome.verified < math.inf and outcome.verified <= ends
                self._at(send.at + CLOSED_AFTER, _recorder(balance, played.account, right))

    @staticmethod
    def _only_candidate(outcome: Outcome, arrived: list[Played]) -> int | None:
        """The only step that can have brought the code, as the service would know it."""
        accepted = [step for step in outcome.steps if step.refused == math.inf]
        if len(arrived) == 1:
            return outcome.steps.index(arrived[0])
        if not arrived and len(accepted) == 1:
            return outcome.steps.index(accepted[0])
        return None

    def _schedule_step(
        self,
        send: Send,
        area: Area,
        memory: PhoneMemory,
        played: Played,
        *,
        n: int,
        verified: float,
    ) -> Try:
        start = send.at + played.start
        tried = self.router.begin_try(start, area, memory, played.channel, n)
        self._at(
            send.at + played.refused,
            lambda at: self.router.record_refusal(at, tried, memory, barred=played.barred),
        )
        self._at(
            send.at + played.receipt, lambda at: self.router.record_delivery(at, tried, memory)
        )
        if played.refused == math.inf:
            silent = min(played.patience_ends, played.start + SILENT_AFTER)
            if min(played.receipt, verified) > silent:
                self._at(
                    send.at + silent, lambda at: self.router.record_unproved(at, tried, memory)
                )
        return tried


def _pick(shares: dict[str, float], point: float) -> str:
    """Picks an account; `point` is uniform in 0..1."""
    names = sorted(shares)
    ends = list(accumulate(shares[name] for name in names))
    return names[min(bisect_right(ends, point * ends[-1]), len(names) - 1)]


def _recorder(balance: AccountBalance, account: str, right: bool) -> Callable[[float], None]:
    return lambda at: balance.record(at, account, verified=right)


DRAWS = 4000


@dataclass(slots=True)
class Oracle:
    world: World
    prices: dict[str, int]
    _curves: dict[Behaviour, tuple[Curve, Curve]] = field(default_factory=dict)
    _stays: Curve = ()
    _plans: dict[tuple[tuple[str, Behaviour], ...], Plan] = field(default_factory=dict)

    def plan(self, send: Send) -> Plan:
        names = [name for name in self.world.channels if name == SMS or name in send.person.reach]
        if send.person.bars_sms and len(names) > 1:
            names.remove(SMS)
        behaviours = tuple((name, self._best(send, name)) for name in sorted(names))
        if behaviours not in self._plans:
            candidates = tuple(self._candidate(name, row) for name, row in behaviours)
            self._plans[behaviours] = choose(candidates, self._stay()).best.plan
        return self._plans[behaviours]

    def _best(self, send: Send, name: str) -> Behaviour:
        items = self.world.accounts.get(name, ())
        return min(
            (
                self.world.behaviour(name, send.person.place, account, send.at)
                for account in ([row.name for row in items] or [""])
            ),
            key=lambda row: (row.lost, row.median),
        )

    def _candidate(self, name: str, behaviour: Behaviour) -> Candidate:
        proof, code = self._times(behaviour)
        rate = 1 - behaviour.lost
        return Candidate(name, self.prices[name], rate, rate, 0.0, proof, code, median(proof))

    def _times(self, behaviour: Behaviour) -> tuple[Curve, Curve]:
        curves = self._curves.get(behaviour)
        if curves is None:
            arrival = log_normal_cdf(behaviour.median, behaviour.sigma)
            typing = self.world.people["typing"]
            draw = random.Random(1)  # noqa: S311 - a simulation
            times = sorted(
                behaviour.median * math.exp(behaviour.sigma * draw.gauss(0, 1))
                + typing["median"] * math.exp(typing["sigma"] * draw.gauss(0, 1))
                for _ in range(DRAWS)
            )
            curves = (
                tuple(arrival(second) for second in range(SECONDS)),
                tuple((bisect_right(times, second) / len(times)) for second in range(SECONDS)),
            )
            self._curves[behaviour] = curves
        return curves

    def _stay(self) -> Curve:
        if not self._stays:
            patience = log_normal_cdf(**self.world.people["gives_up"])
            self._stays = tuple(1 - patience(second) for second in range(SECONDS))
        return self._stays
