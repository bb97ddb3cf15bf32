"""The replay shows which sends of the last week the protection would have refused."""

import random
from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company
from channels.guard.scope_evidence import GuardScope, ScopeKind
from channels.models import Message
from otp.models import GuardEvidence, GuardReplay, GuardRestriction
from otp.protection import week_replay
from otp.protection.code_outcomes import sent_codes
from tests.factories import CompanyFactory
from tests.otp.protection.sends import sent

pytestmark = pytest.mark.django_db
DAY = 86_400.0


def replayed(company: Company) -> GuardReplay:
    week_replay.request_replay(company)
    assert week_replay.make_next()
    assert not week_replay.make_next()
    return GuardReplay.objects.get(company=company)


def people(company: Company, count: int) -> None:
    draw = random.Random(6)  # noqa: S311 - a simulation
    for n in range(count):
        phone = f"+7916{draw.randrange(10**7):07}"
        entered = None if n % 12 == 0 else 9.0
        sent(company, ago=5 * DAY - 60 * n, phone=phone, entered_after=entered)


def attack(company: Company) -> None:
    for n in range(60):
        sent(company, ago=2 * DAY - 10 * n, phone=f"+252617654{n:03}")


def test_replay_lets_people_pass(company: Company) -> None:
    people(company, 120)

    replay = replayed(company)

    assert (replay.codes, replay.refused, replay.challenged, replay.cheap_only) == (120, 0, 0, 0)
    assert replay.since is not None
    assert (timezone.now() - replay.since).days in {4, 5}


def test_replay_refuses_an_attack(company: Company) -> None:
    people(company, 60)
    attack(company)

    replay = replayed(company)

    assert replay.refused > 30
    assert replay.entered == 0
    assert replay.tokens == 16 * (replay.refused + replay.challenged)
    assert not GuardRestriction.objects.exists()
    assert not GuardEvidence.objects.exists()


def test_replay_refuses_attack_between_known_people(company: Company) -> None:
    for n in range(120):
        phone = f"+7916123{n:04}"
        sent(company, ago=5 * DAY - 60 * n, phone=phone, entered_after=9.0)
        sent(company, ago=2 * DAY - 10 * n, phone=phone, entered_after=9.0)
    for n in range(40):
        sent(company, ago=2 * DAY - 30 * n, phone=f"+7916999{n:04}")

    replay = replayed(company)

    assert replay.refused + replay.challenged > 15
    assert replay.entered == 0


def test_people_known_before_the_week_would_have_passed(company: Company) -> None:
    people(company, 60)
    for n in range(3):
        sent(company, ago=20 * DAY, phone=f"+25261777{n:04}", entered_after=9.0)
    attack(company)
    for n in range(4):  # the last one is a stranger
        phone = f"+25261777{n:04}"
        sent(company, ago=2 * DAY - 700, phone=phone, entered_after=9.0)

    replay = replayed(company)

    assert replay.refused > 30
    assert replay.entered == 1


def test_repeated_code_counts_once(company: Company) -> None:
    """The attack begins between the two messages; the second one would have been refused."""
    week = week_replay._Week({})
    phone = "+252611234567"
    first = sent(company, ago=DAY, phone=phone)
    for n in range(60):
        sent(company, ago=DAY - 10 - 10 * n, phone=f"+252617654{n:03}")
    again = sent(company, ago=DAY - 700, phone=phone, entered_after=9.0)
    Message.objects.filter(pk=first.pk).update(subject_id=again.subject_id)
    sent(company, ago=DAY - 800)

    begins = first.created_at - timedelta(minutes=1)
    for code in sent_codes(company.pk, begins, timezone.now(), limit=100):
        week.play(code)

    assert week.entered == 1  # refused, though right
    assert 0.9 < week.guard.evidence[GuardScope(ScopeKind.COUNTRY, "SO")].hits <= 1


def test_codes_of_others_and_of_long_ago_are_not_looked_at(company: Company) -> None:
    sent(company, ago=8 * DAY)
    sent(company, ago=DAY, mode="test")
    sent(CompanyFactory.create(), ago=DAY)
    sent(company, ago=DAY)

    assert replayed(company).codes == 1


def test_new_request_rebuilds_the_replay_once_even_if_concurrent(company: Company) -> None:
    first = replayed(company)
    sent(company, ago=DAY)
    week_replay.request_replay(company)
    week_replay.request_replay(company)

    assert GuardReplay.objects.get().finished_at is None
    assert week_replay.make_next()
    again = GuardReplay.objects.get()
    assert (again.pk, again.codes) == (first.pk, 1)
