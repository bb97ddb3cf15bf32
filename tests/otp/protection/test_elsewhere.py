"""An attack on one company makes the guard of others quicker, where they have no people."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Company
from channels.guard.guard import Guard, GuardStep
from channels.guard.scope_evidence import GuardScope, ScopeKind, scopes_of
from otp.models import GuardRestriction
from otp.protection import guard_evidence, restrictions
from tests.factories import CompanyFactory, UserFactory
from tests.otp.protection.evidence_steps import attack, begin
from tests.otp.protection.sends import count_at, sent

pytestmark = pytest.mark.django_db
FEW = 7  # codes that nobody entered, half as many as it takes elsewhere


def few(company: Company, prefix: str = "+25261111") -> None:
    for n in range(FEW):
        sent(company, ago=90 - n, phone=f"{prefix}{n:04}")


def attack_and_few(company: Company, other: Company) -> None:
    begin()
    attack(company)
    guard_evidence.count()
    begin(ago=150)
    few(other)


def strictest(company: Company) -> int:
    company.refresh_from_db()
    return max((step for _kind, _value, step, *_rest in company.guard_restrictions), default=0)


@pytest.fixture
def other() -> Company:
    created: Company = CompanyFactory.create()
    return created


def test_few_codes_are_enough_where_another_company_is_attacked(
    company: Company, other: Company
) -> None:
    attack_and_few(company, other)

    guard_evidence.count()

    assert (strictest(company), strictest(other)) == (GuardStep.REFUSE, GuardStep.CHALLENGE)


def test_losses_of_others_alone_restrict_nothing(company: Company, other: Company) -> None:
    begin()
    attack(company)
    sent(other, ago=100, phone="+252617654999")

    guard_evidence.count()
    begin(ago=150)
    guard_evidence.count()

    assert strictest(other) == 0


def test_few_codes_alone_restrict_nothing(company: Company, other: Company) -> None:
    begin(ago=150)
    few(other)

    guard_evidence.count()

    assert strictest(other) == 0


def test_company_in_monitoring_mode_does_not_warn_others(company: Company, other: Company) -> None:
    Company.objects.filter(pk=company.pk).update(guard_mode="watch")
    attack_and_few(company, other)
    assert GuardRestriction.objects.filter(company=company, kind="country").exists()

    guard_evidence.count()

    assert strictest(other) == 0


def test_losses_of_others_only_challenge(company: Company, other: Company) -> None:
    attack_and_few(company, other)
    for n in range(3):
        sent(other, ago=60 - n, phone=f"+2526133{n:05}")

    guard_evidence.count()

    assert strictest(other) == GuardStep.CHALLENGE


def test_two_companies_are_not_each_other_s_reason(company: Company, other: Company) -> None:
    """Each lost half as much as it takes; the third one's attack, which began it, is over."""
    third = CompanyFactory.create()
    begin()
    attack(third)
    guard_evidence.count()
    begin(ago=150)
    few(company)
    few(other)
    guard_evidence.count()
    assert [strictest(attacked) for attacked in (company, other)] == [GuardStep.CHALLENGE] * 2
    GuardRestriction.objects.filter(company=third).update(ended_at=timezone.now())

    count_at(timezone.now() + timedelta(minutes=16))

    assert [strictest(attacked) for attacked in (company, other)] == [0, 0]


def test_own_losses_turn_challenge_into_refusal(company: Company, other: Company) -> None:
    attack_and_few(company, other)
    guard_evidence.count()
    early = GuardRestriction.objects.get(company=other, kind="country")
    assert (early.step, early.is_early) == (GuardStep.CHALLENGE, True)
    begin(ago=150)
    few(other, "+25261112")

    guard_evidence.count()

    early.refresh_from_db()
    assert (early.step, early.is_early) == (GuardStep.REFUSE, False)


def test_company_may_ignore_attacks_on_others(company: Company, other: Company) -> None:
    user = UserFactory.create()
    assert restrictions.watch_others(company=other, watches=False, user=user)
    assert not restrictions.watch_others(company=other, watches=False, user=user)
    attack_and_few(company, other)

    guard_evidence.count()

    assert strictest(other) == 0
    (event,) = AuditEvent.objects.filter(action="guard.watches_others")
    assert event.company_id == other.pk


def test_own_people_keep_the_usual_threshold(company: Company, other: Company) -> None:
    """A person who attacks his own company must not make others refuse their people."""
    begin()
    attack(company)
    for n in range(12):
        sent(other, ago=250 + n, phone=f"+25261222{n:04}", entered_after=9.0)
    guard_evidence.count()
    begin(ago=150)
    few(other)

    guard_evidence.count()

    assert strictest(other) == 0


def test_only_open_attacks_on_numbers_are_reported(company: Company, other: Company) -> None:
    now = timezone.now()

    def add(kind: str, value: str, **fields: object) -> None:
        GuardRestriction.objects.create(
            **{
                "company": company,
                "kind": kind,
                "value": value,
                "step": GuardStep.CHALLENGE,
                "rule": "unverified",
                "is_enforced": True,
                "began_at": now,
                "until": now,
            }
            | fields
        )

    add("country", "SO")
    add("prefix-4", "+25261765")
    add("prefix-4", "+25261766", step=GuardStep.CHEAP_ONLY)
    add("prefix-4", "+25261767", ended_at=now)
    add("prefix-4", "+25261768", rule="pending")
    add("prefix-4", "+25261769", is_enforced=False)
    add("prefix-4", "+25261770", is_early=True)
    add("ip", "f" * 24)
    add("country", "KE", company=other)

    attacked = guard_evidence.attacked_numbers()

    own = {GuardScope(ScopeKind.COUNTRY, "SO"), GuardScope(ScopeKind.TEN_THOUSAND, "+25261765")}
    assert attacked.watched_by(other.pk) == own
    assert attacked.watched_by(company.pk) == {GuardScope(ScopeKind.COUNTRY, "KE")}


def test_attack_elsewhere_leaves_the_threshold_of_addresses() -> None:
    guard = Guard(watched={GuardScope(ScopeKind.COUNTRY, "SO")})
    scopes = scopes_of("+252617654321", "SO", ip="f" * 24)
    for n in range(FEW):
        guard.record_miss(1000.0 + n, scopes, 16.0)

    assessments = {
        assessment.scope.kind: assessment.step
        for assessment in guard.assessments(1010.0, scopes)
        if assessment.scope
    }

    assert assessments[ScopeKind.COUNTRY] is GuardStep.CHALLENGE
    assert assessments[ScopeKind.RANGE] is GuardStep.CHALLENGE
    assert assessments[ScopeKind.IP] is GuardStep.ALLOW
