"""The memory of request bodies is bounded: the slowest sender loses its place."""

from processes.server.request_bodies import BodyLimits, BufferedBodies, BufferedBody
from tests.api.races import at_once


class Clock:
    now = 100.0

    def __call__(self) -> float:
        return self.now


def bodies(**bounds: float) -> tuple[BufferedBodies, Clock]:
    given = {"deadline": 10.0, "max_bodies": 3, "max_per_sender": 2, "memory": 100} | bounds
    clock = Clock()
    return BufferedBodies(BodyLimits(**given), clock), clock  # type: ignore[arg-type]


def body(sender: str, at: float = 100.0) -> BufferedBody:
    return BufferedBody({}, None, sender, 1000, None, started=at)


def test_number_of_bodies_is_limited() -> None:
    several, _ = bodies()

    added = [several.add(body(sender)) for sender in "abcd"]

    assert added == [(True, None)] * 3 + [(False, None)]
    assert len(several) == 3


def test_slowest_body_is_evicted() -> None:
    several, clock = bodies()
    first, second, third = (body(sender) for sender in "abc")
    for buffered in (first, second, third):
        several.add(buffered)
    clock.now += 1.5

    assert several.add(body("d", at=clock.now)) == (True, first)
    assert (first.is_removed, second.is_removed, len(several)) == (True, False, 3)


def test_senders_own_slowest_body_is_evicted_first() -> None:
    several, clock = bodies()
    others = body("a")
    own = body("b")
    for buffered in (others, own, body("b")):
        several.add(buffered)
    clock.now += 1.5

    assert several.add(body("b", at=clock.now)) == (True, own)
    assert not others.is_removed


def test_recent_body_is_not_evicted() -> None:
    several, clock = bodies()
    for _ in range(2):
        several.add(body("a"))
    clock.now += 0.9

    assert several.add(body("a")) == (False, None)
    assert several.add(body("b")) == (True, None)


def test_place_is_free_again() -> None:
    several, _ = bodies()
    buffered = body("a")
    several.add(buffered)
    several.add(body("a"))

    assert several.take(buffered)

    assert several.add(body("a")) == (True, None)


def test_slowest_body_is_evicted_for_memory() -> None:
    several, clock = bodies()
    first, second = body("a"), body("b")
    several.add(first)
    several.add(second)
    clock.now += 2

    assert several.grow(first, b"x" * 60) is None
    assert several.grow(second, b"x" * 60) is first
    assert several.grow(second, b"x" * 30) is None


def test_part_of_a_removed_body_takes_no_memory() -> None:
    several, clock = bodies()
    cut = body("a")
    slow = body("b")
    several.add(cut)
    several.add(slow)
    several.take(cut)
    clock.now += 2

    for _ in range(5):
        assert several.grow(cut, b"x" * 60) is None

    assert several.grow(slow, b"x" * 60) is None
    assert not slow.is_removed


def test_late_bodies_are_removed_once() -> None:
    several, clock = bodies()
    first, second = body("a"), body("b", at=105.0)
    several.add(first)
    several.add(second)
    clock.now = 111.0

    assert several.take_late() == [first]
    assert several.take_late() == []
    assert several.take_late(is_stopping=True) == [second]
    assert not several.take(second)


def test_body_is_removed_by_one_of_two_threads() -> None:
    several, clock = bodies(max_bodies=1000, max_per_sender=1000)
    count = [body("a") for _ in range(500)]
    for buffered in count:
        several.add(buffered)
    clock.now += 11

    def finish() -> list[BufferedBody]:
        return [buffered for buffered in count if several.take(buffered)]

    finished, swept = at_once([finish, lambda: list(several.take_late())])

    assert sorted(map(id, [*finished, *swept])) == sorted(map(id, count))
    assert len(several) == 0
