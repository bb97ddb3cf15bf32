"""The router's plan and what it learns: channels, their times, and shares of accounts."""

import random
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from channels.routing.learned import learned_router
from channels.routing.smart.account_balance import MIN_SHARE, REVIEW, AccountBalance
from channels.routing.smart.decay import DAY, SECONDS, log_normal_cdf, quantile
from channels.routing.smart.health import Health
from channels.routing.smart.plans import LOSS_ALLOWED, Candidate, choose
from channels.routing.smart.reach import EXPIRY, Area, PhoneMemory, Standing
from channels.routing.smart.router import EVERYWHERE, MAX_GAP, Exploration, ReasonCode, Router

AREA = Area("RU", "+7916")
PRICES = {"telegram": 1, "sms": 16}
PROOF = tuple(log_normal_cdf(3, 0.6)(second) for second in range(SECONDS))
CODE = tuple(log_normal_cdf(13, 0.6)(second) for second in range(SECONDS))
WAITING = tuple(max(0.2, 1 - second / 150) for second in range(SECONDS))
shares = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])


def test_proven_channel_goes_first_with_the_reason_proved() -> None:
    memory = PhoneMemory()
    memory.record_proof("telegram", 0.0)

    decision = Router(PRICES).decide(3 * DAY, AREA, memory, ["telegram", "sms"])

    assert decision.plan[0].channel == "telegram"
    assert decision.reason is ReasonCode.PROVED
    assert decision.proved_before == 3 * DAY


def test_barred_channel_is_not_planned() -> None:
    memory = PhoneMemory()
    memory.record_refusal("sms", 0.0, barred=True)

    decision = Router(PRICES).decide(10.0, AREA, memory, ["telegram", "sms"])

    assert [step.channel for step in decision.plan] == ["telegram"]


def test_proved_channel_is_new_again_after_the_expiry() -> None:
    memory = PhoneMemory()
    memory.record_proof("telegram", 0.0)

    assert memory.standing("telegram", EXPIRY - 1) is Standing.PROVED
    assert memory.standing("telegram", EXPIRY) is Standing.NEW


def test_two_silences_outweigh_a_proof() -> None:
    memory = PhoneMemory()
    memory.record_proof("telegram", 0.0)
    memory.record_unproved("telegram", 10.0)
    once = memory.standing("telegram", 11.0)
    memory.record_unproved("telegram", 20.0)

    assert (once, memory.standing("telegram", 21.0)) == (
        Standing.PROVED,
        Standing.UNPROVED_OFTEN,
    )


def test_dead_channel_is_detected_within_a_few_sends() -> None:
    health = Health(0.0)
    for n in range(500):
        health.record(n * 10.0, 0.96, delivered=n % 25 != 0)
    before = health.level(5000.0)
    for n in range(8):
        health.record(5000.0 + n * 10, 0.96, delivered=False)

    assert before > 0.9
    assert health.level(5080.0) < 0.3


def test_dead_channel_that_delivers_again_is_trusted_again() -> None:
    health = Health(0.0)
    for n in range(20):
        health.record(n * 10.0, 0.96, delivered=False)
    for n in range(12):
        health.record(300.0 + n * 10, 0.96, delivered=True)

    assert health.level(420.0) > 0.8


def test_reach_of_a_small_cell_is_shrunk_to_its_parent() -> None:
    router = Router(PRICES, exploration=Exploration(0))
    for n in range(300):
        memory = PhoneMemory()
        attempt = router.begin_try(n * 60.0, AREA, memory, "telegram", 0)
        router.record_refusal(n * 60.0, attempt, memory)

    elsewhere = router.decide(300 * 60.0, Area("RU", "+7999"), PhoneMemory(), ["telegram", "sms"])

    assert elsewhere.plan[0].channel == "sms"


def slowest(router: Router, country: str) -> int:
    """Seconds by which 95 % of the correct codes from SMS are entered there."""
    area = Area(country, "")
    decision = router.decide(50_000.0, area, PhoneMemory(), ["sms"])
    assert decision.plan[0].channel == "sms"
    times = router.codes[country, "sms"]
    return quantile(times.curve(50_000.0), 0.95)


def test_country_times_start_from_overall_ones() -> None:
    router = Router(PRICES)

    def enter(country: str, count: int, seconds: float) -> None:
        for n in range(count):
            at = 40_000.0 + n
            memory = PhoneMemory()
            attempt = router.begin_try(at - seconds, Area(country, ""), memory, "sms", 0)
            router.record_entry(at, attempt, memory)

    enter("RU", 300, 20.0)
    enter("KE", 1, 90.0)
    assert slowest(router, "RU") <= 25
    assert slowest(router, "KE") <= 25  # one code is no reason to wait

    enter("BR", 300, 90.0)
    assert slowest(router, "BR") >= 70


def test_number_of_no_country_leaves_the_others_alone() -> None:
    router = Router(PRICES)
    nowhere = router.decide(0.0, Area("", "+800"), PhoneMemory(), list(PRICES))

    somewhere = router.decide(0.0, AREA, PhoneMemory(), list(PRICES))

    assert nowhere.plan == somewhere.plan
    assert sum(router.codes[EVERYWHERE, "sms"].bins) > 0


def test_decoded_times_keep_their_parent() -> None:
    router = Router(PRICES)
    for n in range(100):
        attempt = router.begin_try(1000.0 + n, Area("RU", ""), PhoneMemory(), "sms", 0)
        router.record_entry(1020.0 + n, attempt, PhoneMemory())

    restored = learned_router.decode(learned_router.encode(router, 2000.0))

    parent = restored.codes["RU", "sms"].parent
    assert parent is restored.codes[EVERYWHERE, "sms"]
    assert parent.parent is None


def test_exploration_spares_proven_phones_and_keeps_its_budget() -> None:
    exploration = Exploration(tokens_a_day=2)
    result = [exploration.probe(n * MAX_GAP, "RU", [("telegram", 1)]) for n in range(1, 20)]

    assert len([probe for probe in result if probe is not None]) == 2
    assert exploration.probe(DAY * 2, "RU", []) is None


def test_account_that_verifies_less_loses_its_share_in_steps() -> None:
    balance = AccountBalance({"a": 0.5, "b": 0.5})
    changes = []
    for n in range(2000):
        before = dict(balance.shares)
        balance.record(n * 30.0, "a", verified=n % 20 != 0)
        balance.record(n * 30.0, "b", verified=n % 5 != 0)
        if balance.shares != before:
            changes.append(n * 30.0)

    assert balance.shares["b"] < 0.2
    assert balance.shares["b"] >= MIN_SHARE - 1e-9
    assert all(b - a >= REVIEW for a, b in pairwise(changes))


def shares_after(balance: AccountBalance, rates: dict[str, float], sends: int) -> dict[str, float]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    for n in range(sends):
        for name, rate in rates.items():
            balance.record(n * 30.0, name, verified=draw.random() < rate)
    return balance.shares


def test_second_bad_account_loses_its_share_too() -> None:
    balance = AccountBalance({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})

    shares = shares_after(balance, {"a": 0.0, "b": 0.4, "c": 0.92}, 3000)

    assert shares["a"] == pytest.approx(MIN_SHARE)
    assert shares["b"] == pytest.approx(MIN_SHARE)
    assert sum(shares.values()) == pytest.approx(1)


def test_paused_account_is_excluded_from_comparison() -> None:
    balance = AccountBalance({"a": 1 / 3, "b": 1 / 3, "c": 1 / 3})
    shares_after(balance, {"a": 0.88, "b": 0.93, "c": 0.88}, 700)
    balance.paused = frozenset({"b"})
    kept = balance.shares["b"]

    shares = shares_after(balance, {"a": 0.4, "c": 0.88}, 1500)

    assert shares["a"] == pytest.approx(MIN_SHARE)
    assert shares["b"] == kept
    assert sum(shares.values()) == pytest.approx(1)


def test_shares_that_drift_back_are_shares() -> None:
    balance = AccountBalance({"a": 0.5, "b": 0.3, "c": 0.2})
    balance.shares = {"a": 0.2, "b": 0.45, "c": 0.35}

    shares = shares_after(balance, {"a": 1.0, "b": 1.0, "c": 1.0}, 200)

    assert shares == pytest.approx(balance.configured_shares, abs=0.02)
    assert sum(shares.values()) == pytest.approx(1)


def test_twenty_accounts_keep_the_least_share_they_have() -> None:
    names = [f"a{n:02}" for n in range(20)]
    balance = AccountBalance(dict.fromkeys(names, MIN_SHARE))

    shares = shares_after(balance, dict.fromkeys(names, 0.5), 50)

    assert shares == balance.configured_shares


def candidate(channel: str, delivered: float, told: float = 0.5) -> Candidate:
    price = 16 if channel == "sms" else 1
    return Candidate(channel, price, delivered, delivered, told, PROOF, CODE)


def order(*candidates: Candidate) -> list[str]:
    return [step.channel for step in choose(candidates, WAITING).best.plan]


def test_proven_messenger_goes_first() -> None:
    assert order(candidate("telegram", 0.97), candidate("sms", 0.95)) == ["telegram", "sms"]


def test_messenger_that_fails_everybody_is_skipped() -> None:
    assert order(candidate("telegram", 0.02), candidate("sms", 0.95)) == ["sms"]


def test_without_sms_the_surest_plan_is_chosen() -> None:
    plan = order(candidate("telegram", 0.4), candidate("whatsapp", 0.9))

    assert plan[0] == "whatsapp"


def test_failing_sms_is_not_the_baseline() -> None:
    assert order(candidate("telegram", 0.6), candidate("sms", 0.1)) == ["telegram", "sms"]


@given(first=shares, second=shares, text=st.sampled_from([0.8, 0.9, 0.97]), told=shares)
def test_no_plan_loses_more_correct_codes_than_allowed(
    first: float, second: float, text: float, told: float
) -> None:
    sms = candidate("sms", text)
    best = choose((candidate("a", first, told), candidate("b", second, told), sms), WAITING).best
    sms_first = choose((sms,), WAITING).best

    assert best.verified >= sms_first.verified - LOSS_ALLOWED
    assert best.tokens <= sms_first.tokens or best.verified > sms_first.verified
