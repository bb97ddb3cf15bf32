"""The sends that both sides play: the first of the world after its warm-up.

Between two sends of a person there are hours in the world, and seconds here, in which the service
would refuse the second. So each send has a number of its own, with the memory that the person's
number had at the end of the warm-up.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Any

from tools.replay.population import Send, sends
from tools.replay.timeline import Played, account_of, ask
from tools.replay.world import NATIONAL_DIGITS, SMS, World

CARRIED = {"whatsapp", "telegram", SMS}  # what the service has a simulated vendor for
LONGEST_MS = 3_600_000


class NotPlayableError(Exception):
    """The world cannot be played through the service; the text says why."""


@dataclass(frozen=True, slots=True)
class Sample:
    world: World  # with its changes at the moments at which they now come
    warm_up: list[Send]
    sends: list[Send]  # `at`: seconds from the first moment


def draw(world: World, seed: int, many: int, *, a_second: float) -> Sample:
    """Arrivals are squeezed evenly to so many a second; what follows within a send is not."""
    if unknown := set(world.channels) - CARRIED:
        raise NotPlayableError(f"{world.name}: no vendor is simulated for {', '.join(unknown)}")
    if world.accounts:
        raise NotPlayableError(f"{world.name}: its accounts cannot fare differently here")
    drawn = sends(world, seed)
    warm_up = []
    for send in drawn:
        if send.at >= 0:
            break
        warm_up.append(send)
    else:
        raise NotPlayableError(f"{world.name}: no send after the warm-up")
    taken = [send, *islice(drawn, many - 1)]
    if len(taken) < many:
        raise NotPlayableError(f"{world.name}: only {len(taken)} sends after the warm-up")
    times = taken[-1].at * a_second / many or 1.0
    return Sample(
        _faster(world, times), warm_up, [replace(send, at=send.at / times) for send in taken]
    )


def _faster(world: World, times: float) -> World:
    changes = [replace(one, start=one.start / times, end=one.end / times) for one in world.changes]
    return replace(world, changes=tuple(changes))


def moved(world: World, by: float) -> World:
    """Its changes come so many seconds later."""
    changes = [replace(one, start=one.start + by, end=one.end + by) for one in world.changes]
    return replace(world, changes=tuple(changes))


def later(given: Sequence[Send], by: float) -> Iterator[Send]:
    return (replace(send, at=send.at + by) for send in given)


def renumbered(given: Sequence[Send], first: int) -> list[Send]:
    """In the same operators' ranges, so that only the last digits change."""
    return [
        replace(send, person=replace(send.person, phone=_phone(send.person.phone, first + n)))
        for n, send in enumerate(given)
    ]


def _phone(phone: str, number: int) -> str:
    return f"{phone[:-NATIONAL_DIGITS]}{number:0{NATIONAL_DIGITS}}"


def outcomes(world: World, given: Sequence[Send]) -> dict[str, dict[str, dict[str, Any]]]:
    """By phone and channel, as the simulator reads them."""
    return {
        send.person.phone: {
            channel: outcome_of(ask(world, send, channel, account_of(world, send, channel), 0.0))
            for channel in world.channels
        }
        for send in given
    }


def outcome_of(played: Played) -> dict[str, Any]:
    if played.refused < math.inf:
        kind = "barred" if played.barred else "unreachable"
        return {"outcome": kind, "after_ms": round(played.refused * 1000)}
    if played.arrives == math.inf:
        return {"outcome": "lost"}
    kind = "delivered" if played.receipt < math.inf else "unproved"
    return {"outcome": kind, "after_ms": min(LONGEST_MS, round(played.arrives * 1000))}
