"""The virtual side starts from what the warm-up taught, and follows the service's hold-out."""

import pytest

from tests.tools.replay.live.worlds import small
from tools.replay.live import comparison
from tools.replay.live.comparison import Sample, draw, renumbered
from tools.replay.run import run
from tools.replay.timeline import Outcome, Send


def sampled() -> tuple[Sample, list[Send]]:
    sample = draw(small(), 1, 100, a_second=10)
    return sample, renumbered(sample.sends, 4_000_000)


def ours(held_out: set[str]) -> list[Outcome]:
    sample, alias = sampled()
    policy = comparison.warmed(small(), sample, 1000.0)
    return comparison.ours(policy, sample, alias, began=2000.0, held_out=held_out, explored=0)


def test_known_people_are_remembered_under_their_new_numbers() -> None:
    sample, alias = sampled()
    policy = comparison.warmed(small(), sample, 1000.0)

    found = comparison.memories(policy, sample, alias)

    known = {send.person.phone for send in sample.warm_up}
    assert len(found) == sum(send.person.phone in known for send in sample.sends) > 0
    assert found.keys() <= {send.person.phone for send in alias}


def test_held_out_sends_go_by_the_baseline() -> None:
    sample, alias = sampled()

    assert ours({send.person.phone for send in alias}) == comparison.fixed(sample, "baseline")
    assert ours(set()) != comparison.fixed(sample, "baseline")


def test_nobody_is_refused() -> None:
    assert all(outcome.steps for outcome in ours(set()))


def test_fixed_policies_are_those_of_the_replay() -> None:
    world = small(warm_up_days=0)
    whole = run(world, 1).policies["sms"]
    sample = draw(world, 1, whole.sends, a_second=10)

    found = comparison.fixed(sample, "sms")

    assert sum(outcome.tokens for outcome in found) == whole.tokens


@pytest.mark.parametrize(
    ("sent_at", "learned_at"), [(100.0, 255.0), (126.9, 255.0), (127.1, 285.0)]
)
def test_learning_is_as_late_as_in_the_service(sent_at: float, learned_at: float) -> None:
    assert comparison.learned_at(100.0, sent_at) == learned_at


def test_nothing_is_learned_from_before_it_is_due() -> None:
    sample, alias = sampled()
    policy = comparison.warmed(small(), sample, 1000.0)
    remembered = comparison.memories(policy, sample, alias)
    new = [one.person.phone for one in alias if one.person.phone not in remembered]

    comparison.ours(policy, sample, alias, began=2000.0, held_out=set(), explored=0)
    before = sum(bool(policy.memories[phone].channels) for phone in new)
    policy.run_until(3000.0)

    assert before == 0
    assert all(policy.memories[phone].channels for phone in new)
