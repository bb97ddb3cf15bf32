"""The plan of a chaos run follows from its seed."""

from collections import Counter

from tools.chaos.plan import POOR, PRICES, Disruption, Options, Target, UserBehaviour, make

FULL = Options(seed=7, sends=5000, kills=20, flush=False, short=False)
SHORT = Options(seed=7, sends=300, kills=6, flush=False, short=True)


def test_everything_follows_from_the_seed() -> None:
    other = Options(seed=8, sends=300, kills=6, flush=False, short=True)

    assert make(SHORT) == make(SHORT)
    assert make(SHORT).orders != make(other).orders
    assert make(SHORT).planned_faults != make(other).planned_faults


def test_twenty_kills_meet_every_process_and_postgres_twice() -> None:
    counts = Counter(planned_fault.what for planned_fault in make(FULL).planned_faults)

    assert sum(counts[target] for target in Target) == 20
    assert min(counts[target] for target in Target) >= 2
    assert min(counts[disruption] for disruption in Disruption) >= 2


def test_load_has_every_kind_of_order() -> None:
    plan = make(FULL)
    cost = sum(PRICES[order.sent_by] for order in plan.orders if order.company == POOR)

    assert {order.kind for order in plan.orders} == {"code", "code_link", "link"}
    assert {order.channel for order in plan.orders} == {"whatsapp", "telegram", "sms", None}
    assert {order.person for order in plan.orders} == {*UserBehaviour, None}
    assert sum(order.twin for order in plan.orders) > 200
    assert sum(order.again_at is not None for order in plan.orders) > 50
    assert len({order.phone for order in plan.orders}) == len(plan.orders) == 5000
    assert plan.tokens[POOR] < cost / 2
