"""Restrictions against pumping: how they begin, last and end."""

import time
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Company, GuardMode, Mail, Member, User
from channels.guard.guard import Guard, GuardStep
from channels.guard.scope_evidence import GuardScope, ScopeKind, scopes_of
from channels.routing.smart.decay import DAY
from otp.models import GuardEvidence, GuardRestriction
from otp.protection import guard_evidence, restrictions
from tests.factories import EndpointFactory
from tests.otp.protection.evidence_steps import attack, begin
from tests.otp.protection.sends import count_at, sent
from webhooks.models import Event

pytestmark = pytest.mark.django_db


@pytest.fixture
def user(owner: Member) -> User:
    return owner.user


@pytest.fixture
def attacked(company: Company) -> GuardRestriction:
    begin()
    attack(company)
    guard_evidence.count()
    return GuardRestriction.objects.get(company=company, ended_at=None)


def steps(company: Company) -> dict[str, int]:
    """The restrictions in the company's row, by the value of the scope."""
    company.refresh_from_db()
    return {value: step for _kind, value, step, *_rest in company.guard_restrictions}


def test_lifted_restriction_lets_through_for_an_hour_and_forgets(
    company: Company, attacked: GuardRestriction, user: User
) -> None:
    restrictions.lift(restriction=attacked, user=user)

    attacked.refresh_from_db()
    assert (attacked.lifted_by, attacked.ended_at is not None) == (user, True)
    through = GuardRestriction.objects.get(kind="country", value="SO", ended_at=None)
    assert (through.step, through.rule) == (GuardStep.ALLOW, "lifted")
    assert timedelta(minutes=59) < through.until - timezone.now() <= timedelta(hours=1)
    assert steps(company)["SO"] == GuardStep.ALLOW
    assert not GuardEvidence.objects.filter(kind="country", value="SO").exists()
    assert AuditEvent.objects.filter(action="guard.lifted", company=company).count() == 1

    restrictions.lift(restriction=attacked, user=user)  # pressed twice

    assert GuardRestriction.objects.filter(rule="lifted").count() == 1


def test_attack_after_the_hour_is_restricted_again(
    company: Company, attacked: GuardRestriction, user: User
) -> None:
    restrictions.lift(restriction=attacked, user=user)
    GuardRestriction.objects.filter(rule="lifted").update(
        until=timezone.now() - timedelta(seconds=9)
    )
    begin(150)
    for n in range(16):
        sent(company, ago=120 - n, phone=f"+2526176548{n:02}")

    guard_evidence.count()  # ends the hour
    begin(150)
    guard_evidence.count()

    assert steps(company)["SO"] == GuardStep.REFUSE


def test_refusal_is_not_renewed_without_new_losses(
    company: Company, attacked: GuardRestriction
) -> None:
    count_at(timezone.now() + timedelta(minutes=61))

    attacked.refresh_from_db()
    is_eased = attacked.ended_at is not None or attacked.step < GuardStep.REFUSE
    assert is_eased


def test_continued_attack_is_refused_for_longer(
    company: Company, attacked: GuardRestriction
) -> None:
    past = timezone.now() - timedelta(seconds=200)
    GuardEvidence.objects.update(refused_until=past)
    GuardRestriction.objects.update(until=past)
    begin(150)
    for n in range(20):
        sent(company, ago=130 - n, phone=f"+2526177{n:05}")

    guard_evidence.count()

    again = GuardRestriction.objects.get(company=company, ended_at=None, kind="country")
    assert again.step == GuardStep.REFUSE
    assert again.until - timezone.now() > timedelta(hours=3)


def test_refusal_after_a_proof_of_work_is_announced_again(company: Company, owner: Member) -> None:
    """The hour is over, its evidence is down to a proof of work, and the attack goes on."""
    EndpointFactory.create(company=company)
    begin()
    attack(company)
    guard_evidence.count()
    past = timezone.now() - timedelta(seconds=200)
    GuardEvidence.objects.update(refused_until=past)
    GuardRestriction.objects.update(step=GuardStep.CHALLENGE)
    begin(150)
    for n in range(20):
        sent(company, ago=130 - n, phone=f"+2526177{n:05}")

    guard_evidence.count()

    first, second = Event.objects.filter(kind="guard.triggered").order_by("at")
    assert {event.data["step"] for event in (first, second)} == {"refuse"}
    assert first.data["until"] < second.data["until"]
    assert first.at < second.at
    assert Mail.objects.filter(template="guard_triggered", to=owner.user.email).count() == 2


def test_restriction_ends_once_its_evidence_has_faded(
    company: Company, attacked: GuardRestriction
) -> None:
    GuardEvidence.objects.update(score=0, misses=0, tokens=0, refused_until=None)
    past = timezone.now() - timedelta(seconds=30)
    GuardRestriction.objects.update(until=past)

    guard_evidence.count()

    attacked.refresh_from_db()
    assert attacked.ended_at == past
    assert steps(company) == {}


def test_restriction_counts_sends_it_held_back(attacked: GuardRestriction) -> None:
    for _send in range(3):
        restrictions.count_stopped(attacked.pk)

    count_at(timezone.now() + timedelta(seconds=15))
    count_at(timezone.now() + timedelta(seconds=30))

    attacked.refresh_from_db()
    assert attacked.stopped == 3


@pytest.mark.usefixtures("no_redis")
def test_without_redis_sends_are_held_back_and_not_counted(attacked: GuardRestriction) -> None:
    restrictions.count_stopped(attacked.pk)

    count_at(timezone.now() + timedelta(seconds=15))

    attacked.refresh_from_db()
    assert attacked.stopped == 0


def test_mode_is_audited_and_holds_for_open_restrictions(
    company: Company, attacked: GuardRestriction, user: User
) -> None:
    assert restrictions.set_mode(company=company, mode=GuardMode.WATCH, user=user)
    attacked.refresh_from_db()
    assert not attacked.is_enforced

    assert restrictions.set_mode(company=company, mode=GuardMode.OFF, user=user)
    attacked.refresh_from_db()
    assert attacked.ended_at is not None
    assert steps(company) == {}
    assert not restrictions.set_mode(company=company, mode=GuardMode.OFF, user=user)
    assert AuditEvent.objects.filter(action="guard.mode_changed").count() == 2


def test_country_is_let_through_before_a_sale(company: Company, user: User) -> None:
    scope = GuardScope(ScopeKind.COUNTRY, "SO")
    restrictions.let_through(company=company, scope=scope, user=user)
    restrictions.let_through(company=company, scope=scope, user=user)  # an hour from now on again
    begin()
    attack(company)

    guard_evidence.count()

    assert steps(company)["SO"] == GuardStep.ALLOW
    assert GuardRestriction.objects.filter(kind="country").count() == 1


def test_letting_an_attacked_range_through_lifts_its_restriction(
    company: Company, attacked: GuardRestriction, user: User
) -> None:
    restrictions.let_through(company=company, scope=restrictions.scope_of(attacked), user=user)

    attacked.refresh_from_db()
    assert attacked.lifted_by == user
    assert steps(company)["SO"] == GuardStep.ALLOW


def chain(phone: str) -> tuple[GuardScope, ...]:
    return scopes_of(phone, "KZ")


def test_country_is_allowed_if_block_explains_misses() -> None:
    """Whichever of its sends is looked at first."""
    now = time.time()
    for is_honest_first in (True, False):
        guard = Guard()
        for day in range(40):
            for n in range(30):
                guard.record_hit(now - 3 * DAY + 600 * day + n, chain(f"+7701{day:02}{n:02}321"))
        attacked = [chain(f"+77051234{n:03}") for n in range(40)]
        honest = chain("+77019900111")
        for n, scopes in enumerate(attacked):
            guard.record_miss(now + n * 0.05, scopes, 8.0)
        guard.record_miss(now + 2.1, honest, 8.0)
        chains = [honest, *attacked] if is_honest_first else [*attacked, honest]

        judged = guard_evidence._assess(guard, now + 2.2, chains)

        refused = {
            scope.kind for scope, judgement in judged.items() if judgement.step is GuardStep.REFUSE
        }
        assert ScopeKind.COUNTRY not in refused
        assert refused
