"""The policy that knows each person's reach and each channel's true state."""

import math
import random
from bisect import bisect_right
from dataclasses import dataclass, field

from channels.routing.smart.plan_choice import choose
from channels.routing.smart.plans import Candidate, Curve, Plan, half
from channels.routing.smart.time_histogram import SECONDS, log_normal_cdf
from tools.replay.population import Send
from tools.replay.world import SMS, Behaviour, World

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
        how = tuple((name, self._best(send, name)) for name in sorted(names))
        if how not in self._plans:
            candidates = tuple(self._candidate(name, one) for name, one in how)
            self._plans[how] = choose(candidates, self._stay()).best.plan
        return self._plans[how]

    def _best(self, send: Send, name: str) -> Behaviour:
        items = self.world.accounts.get(name, ())
        return min(
            (
                self.world.behaviour(name, send.person.place, account, send.at)
                for account in ([one.name for one in items] or [""])
            ),
            key=lambda one: (one.lost, one.median),
        )

    def _candidate(self, name: str, how: Behaviour) -> Candidate:
        proof, code = self._times(how)
        rate = 1 - how.lost
        return Candidate(name, self.prices[name], rate, rate, 0.0, proof, code, half(proof))

    def _times(self, how: Behaviour) -> tuple[Curve, Curve]:
        found = self._curves.get(how)
        if found is None:
            arrival = log_normal_cdf(how.median, how.sigma)
            typing = self.world.people["typing"]
            draw = random.Random(1)  # noqa: S311 - a simulation
            times = sorted(
                how.median * math.exp(how.sigma * draw.gauss(0, 1))
                + typing["median"] * math.exp(typing["sigma"] * draw.gauss(0, 1))
                for _ in range(DRAWS)
            )
            found = (
                tuple(arrival(second) for second in range(SECONDS)),
                tuple(_share_below(times, second) for second in range(SECONDS)),
            )
            self._curves[how] = found
        return found

    def _stay(self) -> Curve:
        if not self._stays:
            patience = log_normal_cdf(**self.world.people["gives_up"])
            self._stays = tuple(1 - patience(second) for second in range(SECONDS))
        return self._stays


def _share_below(times: list[float], second: int) -> float:
    return bisect_right(times, second) / len(times)
