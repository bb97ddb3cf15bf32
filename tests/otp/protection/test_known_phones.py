"""Phones of people whom a company knows are no evidence of pumping."""

import random
from datetime import timedelta

import pytest
from django.conf import settings
from django.utils import timezone

from accounts.models import Company
from channels.guard.guard import GuardStep
from channels.guard.scope_evidence import PhoneHistory
from otp.models import GuardRestriction
from otp.protection import guard_evidence, known_phones
from tests.factories import CompanyFactory, VerificationFactory
from tests.otp.protection.evidence_steps import begin, evidence
from tests.otp.protection.sends import sent
from tests.plans import explain, nodes, reads
from tools.demo.months import create_earlier

pytestmark = pytest.mark.django_db


def entered_days_ago(company: Company, phone: str, days: float) -> None:
    at = timezone.now() - timedelta(days=days)
    VerificationFactory.create(
        company=company, phone=phone, created_at=at, judged_at=at, verified_at=at, superseded_at=at
    )


@pytest.mark.parametrize(("days", "is_known"), [(2.0, True), (0.9, False)])
def test_phones_known_for_a_day_are_no_evidence(
    company: Company, days: float, *, is_known: bool
) -> None:
    """Their correct codes would hide an attack on the numbers between them."""
    begin()
    for n in range(4):
        phone = f"+79161234{n:03}"
        entered_days_ago(company, phone, days)
        sent(company, ago=100, phone=phone, entered_after=9.0 if n < 3 else None)
    sent(company, ago=100, phone="+79161234999")

    guard_evidence.count()

    assert evidence(company, "country", "RU") == ((0, 1) if is_known else (3, 2))


def test_phone_known_to_another_company_is_unknown(company: Company) -> None:
    begin()
    entered_days_ago(CompanyFactory.create(), "+79161234567", 2.0)
    sent(company, ago=100, phone="+79161234567")

    guard_evidence.count()

    assert evidence(company, "country", "RU") == (0, 1)


def test_attack_between_known_phones_is_found_by_custom_codes(company: Company) -> None:
    """Sixty correct codes of known phones in two minutes, twenty of numbers that nobody holds."""
    begin()
    for n in range(60):
        phone = f"+7916123{n:04}"
        entered_days_ago(company, phone, 3.0)
        sent(company, ago=200 - n, phone=phone, entered_after=9.0)
    for n in range(20):
        sent(company, ago=200 - n, phone=f"+7916999{n:04}")

    guard_evidence.count()

    rows = GuardRestriction.objects.filter(company=company, kind="country", ended_at=None)
    assert list(rows.values_list("step", "entered")) == [(GuardStep.REFUSE, 0)]


def test_send_and_counting_and_replay_know_the_same_phones(company: Company) -> None:
    """Three statements and one rule: forty phones with up to five codes in the last days."""
    draw = random.Random(3)  # noqa: S311 - a simulation
    histories: dict[str, PhoneHistory] = {}
    for n in range(40):
        phone = f"+7916555{n:04}"
        history = histories[phone] = PhoneHistory()
        for ago in sorted(draw.sample(range(3600, 8 * 86_400, 1800), draw.randrange(6)))[::-1]:
            after = 9.0 if draw.random() < 0.4 else None
            at = sent(company, ago=ago, phone=phone, entered_after=after).created_at.timestamp()
            history.record_send(at)
            if after is not None:
                history.record_entry(at + after)
    now = timezone.now()
    moment = now.timestamp()

    read = known_phones.histories(company.pk, histories, now)
    passes = known_phones.sends_to_known({(company.pk, phone, moment) for phone in histories}, now)

    expected = {phone for phone, history in histories.items() if history.is_known(moment)}
    assert 5 < len(expected) < 35
    assert {phone for phone, history in read.items() if history.is_known(moment)} == expected
    assert {phone for (_company, phone, _at), is_known in passes.items() if is_known} == expected
    assert {phone for phone in histories if known_phones.is_known(company.pk, phone)} == expected


def test_months_before_any_remembered_code_are_not_read(company: Company) -> None:
    """Each month is a partition; a lookup in all of them costs more with each month that ends."""
    now = timezone.now()
    create_earlier((now - timedelta(days=200)).date())
    entered_days_ago(company, "+79161234567", 3.0)
    phones = ["+79161234567"]
    moment = now.timestamp()

    with reads() as statements:
        known_phones.is_known(company.pk, phones[0])
        known_phones.sends_to_known({(company.pk, phones[0], moment)}, now)
        known_phones.histories(company.pk, phones, now)

    names = {
        str(node.get("Relation Name", ""))
        for statement in statements
        for node in nodes(explain(statement))
    }
    months = {name[-7:] for name in names if name.startswith(("otp_ver", "channels_m"))}
    assert len(statements) == 3
    assert f"{now:%Y_%m}" in months
    lifetime = timedelta(seconds=settings.LONGEST_CODE_LIFETIME)
    first = now - known_phones.REMEMBERED - lifetime - known_phones.MARGIN
    assert min(months) == f"{first:%Y_%m}"
