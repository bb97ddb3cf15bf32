"""The sends of a world with every chance drawn beforehand, and what comes of one by one plan.

All policies meet the same sends with the same luck, so they differ by what they choose. Fallback
and charging follow the product: a step begins if the one before is refused or its patience ends
without proof, and only the last step that began can be charged, by its receipt or a correct code.
"""

import heapq
import math
import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from channels.routing.smart.plans import Plan
from tools.replay.world import NATIONAL_DIGITS, SMS, Attack, Range, World


@dataclass(slots=True)
class Person:
    phone: str
    place: Range
    reach: frozenset[str]
    wrong_number: bool
    bars_sms: bool
    ip: str


@dataclass(frozen=True, slots=True)
class Luck:
    """One channel's luck in one send: uniform in 0..1, but for the latency's standard normal."""

    lost: float
    latency: float
    tells: float
    receipt: float
    account: float


@dataclass(slots=True)
class Send:
    at: float
    person: Person
    luck: dict[str, Luck]
    typing: float  # seconds from the arrival to the correct code
    wrong_codes: int  # that are entered before it, or instead of it
    gives_up: float
    never_correct: bool
    attack: int | None = None  # number of the attack


def sends(world: World, seed: int) -> Iterator[Send]:
    honest = _honest(world, random.Random(f"{seed} people"))  # noqa: S311 - a simulation
    attacks = [
        _attack(world, n, attack, random.Random(f"{seed} attack {n}"))  # noqa: S311
        for n, attack in enumerate(world.attacks)
    ]
    return heapq.merge(honest, *attacks, key=lambda send: send.at)


def _honest(world: World, draw: random.Random) -> Iterator[Send]:
    if not world.sends_per_day:
        return
    people: list[Person] = []
    peak = max([1.0, *(surge.times for surge in world.surges)])
    at = -world.warm_up
    while True:
        at += draw.expovariate(world.sends_per_day * peak / 86400)
        if at >= world.end:
            return
        if draw.random() * peak > _times(world, at):
            continue
        if people and draw.random() < world.people["returning"]:
            person = draw.choice(people)
        else:
            person = _person(world, draw)
            people.append(person)
        yield _send(world, draw, at, person)


def _times(world: World, at: float) -> float:
    factor = 1.0
    for surge in world.surges:
        if surge.start <= at < surge.start + surge.seconds:
            factor *= surge.times
    return factor


def _person(world: World, draw: random.Random) -> Person:
    number_range = draw.choices(world.ranges, [row.share for row in world.ranges])[0]
    reach = draw.choices([row for row, _ in world.reach], [part for _, part in world.reach])[0]
    wrong = draw.random() < world.people["wrong_number"]
    return Person(
        phone=number_range.prefix + _digits(draw),
        place=number_range,
        reach=frozenset() if wrong else reach,
        wrong_number=wrong,
        bars_sms=draw.random() < world.people["bars_sms"],
        ip=f"h{draw.getrandbits(40)}",
    )


def _digits(draw: random.Random) -> str:
    return f"{draw.randrange(10**NATIONAL_DIGITS):0{NATIONAL_DIGITS}}"


def _send(world: World, draw: random.Random, at: float, person: Person) -> Send:
    luck = {
        name: Luck(draw.random(), draw.gauss(0, 1), draw.random(), draw.random(), draw.random())
        for name in world.channels
    }
    people = world.people
    wrong = 0
    while wrong < 5 and draw.random() < people["enters_wrong"]:
        wrong += 1
    typing, patience = people["typing"], people["gives_up"]
    once = [
        typing["median"] * math.exp(typing["sigma"] * draw.gauss(0, 1)) for _ in range(wrong + 1)
    ]
    return Send(
        at=at,
        person=person,
        luck=luck,
        typing=sum(once),
        wrong_codes=wrong,
        gives_up=patience["median"] * math.exp(patience["sigma"] * draw.gauss(0, 1)),
        never_correct=wrong == 5,
    )


def _attack(world: World, n: int, attack: Attack, draw: random.Random) -> Iterator[Send]:
    """`slow` comes at even intervals, the others at random; `rotating` goes round 20 blocks."""
    if not attack.per_hour:
        return
    number_range = _place(world, attack.prefix)
    digits = max(1, _length(world, attack.prefix) - len(attack.prefix))
    blocks = [draw.randrange(10 ** max(0, digits - 4)) for _ in range(20)]
    at, count, first = attack.start, 0, draw.randrange(10**digits)
    gap = 3600 / attack.per_hour
    while True:
        at += gap if attack.numbers == "slow" else draw.expovariate(1 / gap)
        if at >= attack.start + attack.seconds or at >= world.end:
            return
        if attack.numbers == "sequential":
            tail = (first + count) % 10**digits
        elif attack.numbers == "rotating":
            tail = (blocks[count % 20] * 10**4 + draw.randrange(10**4)) % 10**digits
        else:
            tail = draw.randrange(10**digits)
        address = draw.randrange(attack.ips) if attack.ips else draw.getrandbits(40)
        person = Person(
            f"{attack.prefix}{tail:0{digits}}",
            number_range,
            frozenset(),
            False,
            False,
            f"a{n}.{address}",
        )
        send = _send(world, draw, at, person)
        send.attack, send.never_correct = n, draw.random() >= attack.enters
        send.gives_up = math.inf
        yield send
        count += 1


def _place(world: World, prefix: str) -> Range:
    inside = [row for row in world.ranges if prefix.startswith(row.prefix)]
    return max(inside, key=lambda row: len(row.prefix), default=Range("", prefix, 0.0, {}))


def _length(world: World, prefix: str) -> int:
    number_range = _place(world, prefix)
    return len(number_range.prefix if number_range.country else prefix) + NATIONAL_DIGITS


REFUSAL_SECONDS = 0.5
LIFETIME = 300.0  # of a code


@dataclass(slots=True)
class Played:
    """Seconds from the send on; infinite where it never happens."""

    channel: str
    account: str
    start: float
    barred: bool = False
    refused: float = math.inf
    arrives: float = math.inf
    receipt: float = math.inf
    patience_ends: float = math.inf


@dataclass(slots=True)
class Outcome:
    steps: list[Played] = field(default_factory=list)
    arrives: float = math.inf
    verified: float = math.inf
    tokens: int = 0


def play(
    world: World,
    send: Send,
    plan: Plan,
    prices: Mapping[str, int],
    accounts: Mapping[str, str] | None = None,
) -> Outcome:
    outcome = Outcome()
    start, proof = 0.0, math.inf
    for step in plan:
        if start >= min(proof, outcome.verified) or start > LIFETIME - 30:
            break
        account = (accounts or {}).get(step.channel) or account_of(world, send, step.channel)
        played = ask(world, send, step.channel, account, start)
        outcome.steps.append(played)
        proof = min(proof, played.receipt)
        _enter(send, outcome, played)
        if step.patience is None:
            break
        played.patience_ends = start + step.patience
        start = min(played.refused, played.patience_ends)
    outcome.tokens = _tokens(outcome, prices)
    return outcome


def account_of(world: World, send: Send, channel: str) -> str:
    """Picks an account by the resting shares."""
    items = world.accounts.get(channel, ())
    point = send.luck[channel].account * sum(row.share for row in items)
    for row in items:
        point -= row.share
        if point < 0:
            return row.name
    return items[-1].name if items else ""


def ask(world: World, send: Send, channel: str, account: str, start: float) -> Played:
    """Plays the send by one channel, from `start` seconds on."""
    luck, person = send.luck[channel], send.person
    how = world.behaviour(channel, person.place, account, send.at + start)
    played = Played(channel, account, start)
    barred = channel == SMS and person.bars_sms
    there = not person.wrong_number and not barred if channel == SMS else channel in person.reach
    if not there:
        if luck.tells < how.tells_unreachable:
            played.refused = start + REFUSAL_SECONDS
            played.barred = barred
    elif luck.lost >= how.lost:
        played.arrives = start + how.median * math.exp(how.sigma * luck.latency)
        if luck.receipt < how.receipts:
            played.receipt = played.arrives
    return played


def _enter(send: Send, outcome: Outcome, played: Played) -> None:
    if played.arrives >= outcome.arrives:
        return
    outcome.arrives = played.arrives
    entered = played.arrives + send.typing
    stays = played.arrives <= send.gives_up and not send.never_correct
    outcome.verified = entered if stays and entered <= LIFETIME else math.inf


def _tokens(outcome: Outcome, prices: Mapping[str, int]) -> int:
    last = outcome.steps[-1]
    if last.receipt < math.inf:
        return prices[last.channel]
    receipts = [played.receipt for played in outcome.steps]
    is_proved_by_code = outcome.verified < min(receipts)
    return prices[last.channel] if is_proved_by_code else 0
