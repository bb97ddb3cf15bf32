"""The guard's refusals, challenges and exemptions, and its known phones."""

import random

import pytest

from channels.guard.guard import Guard, GuardStep
from channels.guard.scope_evidence import PhoneHistory
from channels.routing.smart.decay import DAY, HOUR

SMS = 16.0


def play(guard: Guard, now: float, phone: str, *, country: str, verified: bool) -> GuardStep:
    assessment = guard.assess(now, phone, country)
    if assessment.step is not GuardStep.ALLOW:
        return assessment.step
    pending_code = guard.open_code(now, assessment)
    guard.record_delivery(now + 4, pending_code, SMS, 4.0)
    if verified:
        guard.record_verification(now + 14, pending_code)
    else:
        guard.record_timeout(now + 34, pending_code)
    return assessment.step


def attacked(guard: Guard, start: float, numbers: list[str]) -> int:
    """The attack's sends that were let through to SMS."""
    steps = [
        play(guard, start + n * 40, phone, country="SO", verified=False)
        for n, phone in enumerate(numbers)
    ]
    return steps.count(GuardStep.ALLOW)


def burst(guard: Guard, start: float, ip: str = "") -> list[GuardStep]:
    """Sends twenty codes a second apart; none is mature when the last one is sent."""
    steps = []
    for n in range(20):
        assessment = guard.assess(start + n, f"+25261123{n:04}", "SO", ip)
        steps.append(assessment.step)
        if assessment.step is not GuardStep.REFUSE:
            guard.record_delivery(start + n, guard.open_code(start + n, assessment), SMS, 1.0)
    return steps


def people(guard: Guard, count: int, *, share: float = 0.92) -> list[GuardStep]:
    draw = random.Random(1)  # noqa: S311 - a simulation
    return [
        play(
            guard,
            n * 20.0,
            f"+7916{draw.randrange(10**7):07}",
            country="RU",
            verified=draw.random() < share,
        )
        for n in range(count)
    ]


@pytest.mark.parametrize("kind", ["sequential", "random"])
def test_attack_is_stopped_within_400_tokens(kind: str) -> None:
    guard = Guard()
    draw = random.Random(2)  # noqa: S311 - a simulation
    people(guard, 500)
    tails = [n + 1234567 if kind == "sequential" else draw.randrange(10**7) for n in range(200)]

    passed = attacked(guard, 500 * 20.0, [f"+25261{tail:07}" for tail in tails])

    assert passed * SMS <= 400


@pytest.mark.parametrize(
    ("enters", "of", "allowed"), [(0.0, 1.5, 400), (0.2, 1, 480), (0.4, 1, 1600)]
)
def test_attack_among_people_or_with_codes_is_stopped(
    enters: float, of: float, allowed: float
) -> None:
    """One of `of` codes is the attack's. So the share that is entered is hardly less than half of
    the norm, of which by itself it takes hundreds of codes to be sure.
    """
    lost = []
    for seed in range(10):
        guard = Guard()
        draw = random.Random(seed)  # noqa: S311 - a simulation
        people(guard, 500)
        steps = []
        for n in range(600):
            is_attack = n % of < 1
            verified = draw.random() < (enters if is_attack else 0.92)
            phone = f"+7916{draw.randrange(10**7):07}"
            step = play(guard, 10_000.0 + 20 * n, phone, country="RU", verified=verified)
            steps += [step] if is_attack else []
        lost.append(steps.index(GuardStep.REFUSE) * SMS)

    assert sorted(lost)[5] <= allowed
    assert max(lost) <= 1.25 * allowed


@pytest.mark.parametrize("share", [0.8, 0.7])
def test_people_who_enter_less_than_usual_are_not_held_back(share: float) -> None:
    """A campaign: its people are less sure of what they want."""
    for seed in range(20):
        guard = Guard()
        draw = random.Random(seed)  # noqa: S311 - a simulation
        people(guard, 500)
        for n in range(1000):
            phone = f"+7916{draw.randrange(10**7):07}"
            verified = draw.random() < share
            step = play(guard, 10_000.0 + 30 * n, phone, country="RU", verified=verified)
            assert step is GuardStep.ALLOW


def test_solved_challenge_allows_no_burst_on_an_unseen_range() -> None:
    """Codes that are not mature count as lost as soon as a challenge is due."""
    guard = Guard()
    now = 10_000.0
    people(guard, 500)
    for n in range(11):
        pending_code = guard.open_code(now, guard.assess(now, f"+25261765{n:04}", "SO"))
        guard.record_delivery(now + 4, pending_code, SMS, 4.0)
        guard.record_timeout(now + 34, pending_code)
    steps = burst(guard, now + 60)

    assert steps[0] is GuardStep.CHALLENGE
    assert steps.index(GuardStep.REFUSE) <= 4


def test_solved_challenges_do_not_restrict_shared_address() -> None:
    """People are seen around it; a correct code of those who solved the challenge clears it."""
    guard = Guard()
    now = 20_000.0
    ip = "192.0.2.1"
    for n in range(60):
        phone = f"+25261{n * 7919 + 5_000_000:07}"
        assert play(guard, now - 6000 + 40 * n, phone, country="SO", verified=True) == 0
    for n in range(11):
        pending_code = guard.open_code(now, guard.assess(now, f"+2526177{n:05}", "SO", ip))
        guard.record_delivery(now + 4, pending_code, SMS, 4.0)
        guard.record_timeout(now + 34, pending_code)

    assert set(burst(guard, now + 60, ip)[:8]) == {GuardStep.CHALLENGE}


def test_code_entered_before_receipt_is_not_a_miss() -> None:
    guard = Guard()
    now = 10_000.0
    for n in range(20):
        at = now + 60 * n
        first, again = (
            guard.open_code(at, guard.assess(at, f"+7916{n:07}", "RU")) for _message in range(2)
        )
        guard.record_later_entry(at + 9, first)
        guard.record_verification(at + 9, again)
        for pending_code in (first, again):
            guard.record_delivery(at + 12, pending_code, SMS, 12.0)
            guard.record_timeout(at + 42, pending_code)

    assert (guard.company.norm.hits, guard.company.norm.trials) == pytest.approx((20, 20), rel=0.01)
    assert all(evidence.pending == 0 for evidence in guard.evidence.values())


def test_undelivered_messages_are_no_evidence() -> None:
    guard = Guard()
    people(guard, 500)
    for n in range(300):
        assessment = guard.assess(10_000.0 + n, f"+7916{n:07}", "RU")
        pending_code = guard.open_code(10_000.0 + n, assessment)
        guard.record_delivery(10_000.0 + n + 200, pending_code, SMS, 200.0)  # too late to be used
        guard.record_timeout(10_000.0 + n + 230, pending_code)

    assert guard.assess(10_500.0, "+79160000001", "RU").step is GuardStep.ALLOW


def test_restriction_names_scope_and_end_and_passes_known_phones() -> None:
    guard = Guard()
    now = 10_000.0
    people(guard, 500)
    for n in range(15):  # all handed over before any of them is mature
        pending_code = guard.open_code(now, guard.assess(now, f"+252617654{n:03}", "SO"))
        guard.record_delivery(now + 4, pending_code, SMS, 4.0)
        guard.record_timeout(now + 34, pending_code)

    assessment = guard.assess(now + 60, "+252617654999", "SO")

    assert assessment.step is GuardStep.REFUSE
    assert assessment.scope is not None
    assert assessment.rule in {"unverified", "refused"}
    assert assessment.until is not None
    assert assessment.until > now + 60
    known = guard.assess(now + 61, "+252617654998", "SO", is_known=True)
    assert known.step is GuardStep.ALLOW


@pytest.mark.parametrize(("seen", "longest"), [(0, 24), (60, 4)])
def test_refusal_among_people_ends_sooner(seen: int, longest: int) -> None:
    guard = Guard()
    draw = random.Random(3)  # noqa: S311 - a simulation
    phones = [f"+25261{draw.randrange(10**7):07}" for _n in range(seen + 3 * 24 * 90)]
    for n, phone in enumerate(phones[:seen]):
        play(guard, n * 20.0, phone, country="SO", verified=True)
    ends: list[float] = []
    now = seen * 20.0
    for phone in phones[seen:]:
        now += 40
        assessment = guard.assess(now, phone, "SO")
        if assessment.step is GuardStep.REFUSE:
            if assessment.rule == "unverified" and assessment.until:
                ends.append((assessment.until - now) / 3600)
            continue
        pending_code = guard.open_code(now, assessment)
        guard.record_delivery(now + 4, pending_code, SMS, 4.0)
        guard.record_timeout(now + 34, pending_code)

    assert max(ends) == pytest.approx(longest)


def test_known_phones_are_no_evidence() -> None:
    guard = Guard()
    now = 10 * DAY
    for n in range(200):
        at = now + n * 20.0
        assessment = guard.assess(at, f"+7916{n:07}", "RU", is_known=True)
        assert assessment.step is GuardStep.ALLOW
        pending_code = guard.open_code(at, assessment)
        guard.record_delivery(at + 4, pending_code, SMS, 4.0)
        guard.record_verification(at + 14, pending_code) if n % 2 else guard.record_timeout(
            at + 34, pending_code
        )

    assert not guard.evidence
    assert guard.company.norm.trials == 0


def test_ended_refusal_allows_no_burst() -> None:
    guard = Guard()
    now = 10_000.0
    people(guard, 500)
    for n in range(15):
        pending_code = guard.open_code(now, guard.assess(now, f"+252617654{n:03}", "SO"))
        guard.record_delivery(now + 4, pending_code, SMS, 4.0)
        guard.record_timeout(now + 34, pending_code)
    refused = guard.assess(now + 60, "+252617654999", "SO")
    assert refused.until is not None

    steps = burst(guard, refused.until)

    assert steps.index(GuardStep.REFUSE) <= 4
    assert set(steps[4:]) == {GuardStep.REFUSE}


NOW = 100 * DAY


def history(*, entered: list[float], sent: list[float]) -> PhoneHistory:
    """Builds a history; moments are given as seconds before `NOW`."""
    phone_history = PhoneHistory()
    for ago in sent:
        phone_history.record_send(NOW - ago)
    for ago in entered:
        phone_history.record_entry(NOW - ago)
    return phone_history


@pytest.mark.parametrize(
    ("entered", "sent", "is_known"),
    [
        ([], [], False),
        ([DAY], [DAY + 60], False),
        ([DAY + 1], [DAY + 60], True),
        # three a day, even if each of them is entered
        ([2 * DAY, 3 * HOUR], [3 * HOUR, 2 * HOUR], True),
        ([2 * DAY, HOUR], [3 * HOUR, 2 * HOUR, HOUR], False),
        # three since the newest correct one, however slowly
        ([9 * DAY], [6 * DAY, 4 * DAY], True),
        ([9 * DAY], [6 * DAY, 4 * DAY, 2 * DAY], False),
        ([9 * DAY, 3 * DAY], [6 * DAY, 4 * DAY, 2 * DAY], True),
    ],
)
def test_phone_is_known_by_its_codes(
    entered: list[float], sent: list[float], *, is_known: bool
) -> None:
    assert history(entered=entered, sent=sent).is_known(NOW) is is_known


@pytest.mark.parametrize(
    ("entered", "sends", "is_counted"),
    [
        ([], 3, True),
        ([], 4, False),
        ([2 * DAY], 6, True),
        ([2 * DAY], 7, False),
        ([HOUR], 4, False),
    ],
)
def test_misses_of_many_codes_to_one_phone_do_not_count(
    entered: list[float], sends: int, *, is_counted: bool
) -> None:
    sent = [11 * HOUR - 60.0 * n for n in range(sends)]

    assert history(entered=entered, sent=[13 * HOUR, *sent]).is_counted(NOW) is is_counted
