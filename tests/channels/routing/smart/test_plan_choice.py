from hypothesis import given
from hypothesis import strategies as st

from channels.routing.smart.decay import SECONDS, log_normal_cdf
from channels.routing.smart.plans import LOSS_ALLOWED, Candidate, choose

PROOF = tuple(log_normal_cdf(3, 0.6)(second) for second in range(SECONDS))
CODE = tuple(log_normal_cdf(13, 0.6)(second) for second in range(SECONDS))
STAYS = tuple(max(0.2, 1 - second / 150) for second in range(SECONDS))
shares = st.sampled_from([0.0, 0.1, 0.3, 0.5, 0.8, 0.95, 1.0])


def candidate(channel: str, delivered: float, told: float = 0.5) -> Candidate:
    price = 16 if channel == "sms" else 1
    return Candidate(channel, price, delivered, delivered, told, PROOF, CODE)


def order(*candidates: Candidate) -> list[str]:
    return [step.channel for step in choose(candidates, STAYS).best.plan]


def test_a_proven_messenger_goes_first() -> None:
    assert order(candidate("telegram", 0.97), candidate("sms", 0.95)) == ["telegram", "sms"]


def test_a_messenger_that_reaches_nobody_is_left_out() -> None:
    assert order(candidate("telegram", 0.02), candidate("sms", 0.95)) == ["sms"]


def test_without_sms_the_surest_plan_is_chosen() -> None:
    plan = order(candidate("telegram", 0.4), candidate("whatsapp", 0.9))

    assert plan[0] == "whatsapp"


def test_a_failing_sms_is_no_measure() -> None:
    assert order(candidate("telegram", 0.6), candidate("sms", 0.1)) == ["telegram", "sms"]


@given(first=shares, second=shares, text=st.sampled_from([0.8, 0.9, 0.97]), told=shares)
def test_no_plan_loses_more_right_codes_than_allowed(
    first: float, second: float, text: float, told: float
) -> None:
    sms = candidate("sms", text)
    best = choose((candidate("a", first, told), candidate("b", second, told), sms), STAYS).best
    sms_first = choose((sms,), STAYS).best

    assert best.verified >= sms_first.verified - LOSS_ALLOWED
    assert best.tokens <= sms_first.tokens or best.verified > sms_first.verified
