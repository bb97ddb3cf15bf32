"""From the outcomes of codes to restrictions: each outcome counts once, even if a worker dies."""

import random
from datetime import timedelta
from itertools import pairwise

import pytest
from django.utils import timezone

from accounts.models import Company, GuardMode, Mail
from channels.guard.guard import GuardStep
from channels.models import Message
from otp.models import GuardEvidence, GuardProgress, GuardRestriction
from otp.protection import code_outcomes, guard_evidence, restrictions
from otp.protection.code_outcomes import OutcomeKind
from tests.api.races import at_once
from tests.factories import AttemptFactory, CompanyFactory, MemberFactory
from tests.otp.protection.evidence_steps import attack, begin, evidence
from tests.otp.protection.sends import count_at, sent

pytestmark = pytest.mark.django_db


def test_attack_on_a_range_is_refused_and_announced_once(company: Company) -> None:
    MemberFactory.create(company=company, role="owner", user__email="owner@example.com")
    begin()
    attack(company)

    guard_evidence.count()
    guard_evidence.count()

    restriction = GuardRestriction.objects.get(company=company, kind="country", ended_at=None)
    assert restriction.step == GuardStep.REFUSE
    assert (restriction.rule, restriction.is_enforced, restriction.entered) == (
        "unverified",
        True,
        0,
    )
    assert restriction.codes == 20
    assert restriction.excess > 176
    assert timedelta(minutes=50) < restriction.until - timezone.now() <= timedelta(hours=1)
    company.refresh_from_db()
    published = {(kind, value): step for kind, value, step, *_rest in company.guard_restrictions}
    assert published["country", "SO"] == GuardStep.REFUSE
    about = Mail.objects.filter(template="guard_triggered", to="owner@example.com")
    assert about.count() == GuardRestriction.objects.filter(rule="unverified").count()


def test_people_who_take_their_time_are_people(company: Company) -> None:
    begin()
    for n in range(40):
        phone = f"+7916{n:03}{n:04}"
        sent(company, ago=280 - 4 * n, phone=phone, entered_after=9.0 if n % 3 else 50.0)

    guard_evidence.count()

    assert not GuardRestriction.objects.exists()
    assert evidence(company, "country", "RU") == (40, 0)


def test_developer_test_phone_restricts_nobody(company: Company) -> None:
    begin()
    for n in range(20):
        sent(company, ago=280 - 5 * n, phone="+79161234567")

    guard_evidence.count()

    assert not GuardRestriction.objects.filter(rule="unverified").exists()


def test_code_requested_thrice_and_entered_is_one_hit(company: Company) -> None:
    begin()
    first = sent(company, ago=280, phone="+79161234567", entered_after=100.0)
    for ago in (250, 215):
        again = sent(company, ago=ago, phone="+79161234567")
        Message.objects.filter(pk=again.pk).update(subject_id=first.subject_id)

    guard_evidence.count()

    assert evidence(company, "country", "RU") == (1, 0)


def test_attack_on_number_block_keeps_neighbours_allowed(company: Company) -> None:
    begin()
    draw = random.Random(7)  # noqa: S311 - a simulation
    for n in range(40):
        phone = f"+7916{draw.randrange(10**7):07}"
        sent(company, ago=280 - n, phone=phone, entered_after=9.0)
    for n in range(60):
        sent(company, ago=190 - n, phone=f"+791612300{n:02}")

    guard_evidence.count()

    rows = GuardRestriction.objects.filter(rule="unverified", ended_at=None)
    assert rows
    assert all("+791612300".startswith(row.value) for row in rows)
    assert not rows.filter(kind__in=["country", "range"]).exists()


def test_messages_that_came_late_by_the_last_channel_are_evidence(company: Company) -> None:
    begin()
    for n in range(20):
        message = sent(company, ago=200 - n, phone=f"+252617654{n:03}", delivered_after=70.0)
        at = timezone.now() - timedelta(seconds=200 - n - 65)
        AttemptFactory.create(message=message, started_at=at)

    guard_evidence.count()

    assert evidence(company, "country", "SO") == (0, 20)


def late_by_the_last_channel(company: Company, n: int, entered_after: float | None) -> Message:
    """Asked for by its last channel after 150 seconds, as a patient company lets it be."""
    message = sent(
        company,
        ago=270 - n,
        phone=f"+252617654{n:03}",
        delivered_after=155.0,
        entered_after=entered_after,
    )
    at = timezone.now() - timedelta(seconds=270 - n - 150)
    AttemptFactory.create(message=message, started_at=at)
    return message


def test_patience_of_minutes_hides_no_attack(company: Company) -> None:
    begin()
    for n in range(20):
        late_by_the_last_channel(company, n, 170.0 if n == 0 else None)

    for ago in range(100, 0, -7):
        count_at(timezone.now() - timedelta(seconds=ago))
    guard_evidence.count()

    assert evidence(company, "country", "SO") == (1, 19)


def test_late_repeated_code_is_one_hit(company: Company) -> None:
    """The later message of the two was delivered first, and long ago."""
    begin()
    first = late_by_the_last_channel(company, 0, 170.0)
    again = sent(company, ago=265, phone=first.phone)
    Message.objects.filter(pk=again.pk).update(subject_id=first.subject_id)

    for ago in range(260, 0, -7):
        count_at(timezone.now() - timedelta(seconds=ago))
    guard_evidence.count()

    assert evidence(company, "country", "SO") == (1, 0)


def test_undelivered_and_late_codes_are_no_evidence(company: Company) -> None:
    begin()
    attack(company, delivered_after=None)
    attack(company, delivered_after=61.0)

    guard_evidence.count()

    assert not GuardEvidence.objects.filter(kind="country").exists()
    assert not GuardRestriction.objects.exists()


def test_codes_wait_half_a_minute_before_they_count(company: Company) -> None:
    begin()
    sent(company, ago=8, phone="+252611111111")

    (outcome,) = code_outcomes.outcomes(timezone.now() - timedelta(seconds=60), timezone.now())

    assert outcome.kind is OutcomeKind.AWAITED


def test_many_codes_at_once_go_without_sms_before_any_is_missed(company: Company) -> None:
    begin()
    for n in range(20):
        sent(company, ago=20, phone=f"+2526176540{n:02}")

    guard_evidence.count()

    steps = set(GuardRestriction.objects.values_list("rule", "step"))
    assert steps == {("pending", GuardStep.CHEAP_ONLY)}
    assert not Mail.objects.filter(template="guard_triggered").exists()


def test_code_that_is_entered_late_takes_its_evidence_back(company: Company) -> None:
    begin(400)
    sent(company, ago=350, phone="+252611111111", entered_after=200.0)

    guard_evidence.count()

    row = GuardEvidence.objects.get(company=company, kind="country", value="SO")
    assert (round(row.norm_hits), round(row.norm_trials)) == (1, 1)
    assert (row.misses, row.tokens) == (0.0, 0.0)


def test_each_outcome_falls_into_one_interval(company: Company) -> None:
    draw = random.Random(4)  # noqa: S311 - a simulation
    for n in range(80):
        sent(
            company,
            ago=draw.uniform(5, 500),
            phone=f"+25261{n:07}",
            delivered_after=draw.choice([None, 1.0, 30.0, 59.0, 61.0, 90.0]),
            entered_after=draw.choice([None, 0.5, 33.9, 94.0, 96.0, 200.0, 299.0]),
        )
    end = timezone.now()
    start = end - timedelta(seconds=900)

    def found(cuts: list[float]) -> list[tuple[str, str]]:
        edges = [start, *(start + timedelta(seconds=cut) for cut in sorted(cuts)), end]
        several = [code_outcomes.outcomes(since, until) for since, until in pairwise(edges)]
        return sorted(
            (outcome.code.phone, outcome.kind.value)
            for outcomes in several
            for outcome in outcomes
            if outcome.kind is not OutcomeKind.AWAITED
        )

    whole = found([])
    assert len(whole) > 40
    for _round in range(5):
        assert found([draw.uniform(0, 900) for _cut in range(12)]) == whole


def test_test_sends_links_and_switched_off_companies_are_not_counted(company: Company) -> None:
    begin()
    attack(company)
    Message.objects.update(content="code_with_link")
    attack(company, mode="test")
    attack(CompanyFactory.create(guard_mode=GuardMode.OFF))

    guard_evidence.count()

    assert not GuardEvidence.objects.filter(kind="country").exists()


def test_attack_from_one_address_restricts_only_that_address(company: Company) -> None:
    begin()
    draw = random.Random(5)  # noqa: S311 - a simulation
    for n in range(200):
        phone = f"+7916{draw.randrange(10**7):07}"
        sent(company, ago=280, phone=phone, entered_after=9.0, sender={"ip": f"{n:024x}"})
    for _n in range(16):
        phone = f"+7916{draw.randrange(10**7):07}"
        sent(company, ago=100, phone=phone, sender={"ip": "f" * 24})

    guard_evidence.count()

    (restriction,) = GuardRestriction.objects.filter(rule="unverified")
    assert (restriction.kind, restriction.value, restriction.step) == (
        "ip",
        "f" * 24,
        GuardStep.REFUSE,
    )


def test_watching_company_is_notified_and_holds_nothing_back(company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(guard_mode=GuardMode.WATCH)
    begin()
    attack(company)

    guard_evidence.count()

    assert set(GuardRestriction.objects.values_list("is_enforced", flat=True)) == {False}


def test_worker_that_dies_counts_nothing(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    begin()
    attack(company)
    before = GuardProgress.objects.get().counted_until

    def die(*_args: object) -> None:
        raise ConnectionError

    with monkeypatch.context() as patched:
        patched.setattr(restrictions, "update", die)
        with pytest.raises(ConnectionError):
            guard_evidence.count()
        assert GuardProgress.objects.get().counted_until == before
        assert not GuardEvidence.objects.exists()

    guard_evidence.count()

    assert evidence(company, "country", "SO") == (0, 20)


def test_absent_worker_skips_old_losses(company: Company) -> None:
    begin(86_400)
    for n in range(16):
        sent(company, ago=7200, phone=f"+252617654{n:03}")

    guard_evidence.count()

    assert not GuardRestriction.objects.exists()
    assert timezone.now() - GuardProgress.objects.get().counted_until < timedelta(minutes=2)


def test_first_look_begins_now(company: Company) -> None:
    attack(company)

    guard_evidence.count()

    assert not GuardEvidence.objects.filter(kind="country").exists()


@pytest.mark.django_db(transaction=True)
def test_two_workers_count_once(company: Company) -> None:
    begin()
    attack(company)

    at_once([guard_evidence.count] * 8)

    assert evidence(company, "country", "SO") == (0, 20)


def test_faded_evidence_is_forgotten(company: Company) -> None:
    begin()
    attack(company)
    guard_evidence.count()
    GuardEvidence.objects.update(seen_at=timezone.now() - timedelta(days=3))

    guard_evidence.purge(1000)

    assert set(GuardEvidence.objects.values_list("kind", flat=True)) == {
        "company",
        "country",
        "range",
    }
