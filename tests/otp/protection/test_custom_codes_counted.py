"""The guard and the router ignore custom codes, unless the company reports."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.utils import timezone

from accounts.models import Company
from catalogue.ids import first_id_at
from channels.models import Message
from otp import history
from otp.models import GuardEvidence, Verification
from otp.protection import code_outcomes, guard_evidence
from otp.protection.code_outcomes import OutcomeKind
from otp.statistics import route_learning
from tests.otp.protection.evidence_steps import begin
from tests.otp.protection.sends import sent

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def company(company: Company) -> Company:
    Company.objects.filter(pk=company.pk).update(guard_mode="watch")
    return company


def own(company: Company, *, entered_after: float | None = None, ago: float = 100.0) -> Message:
    message = sent(company, ago=ago, entered_after=entered_after)
    Verification.objects.filter(pk=message.subject_id).update(is_custom=True)
    Message.objects.filter(pk=message.pk).update(content="custom_code")
    return message


def outcomes() -> list[tuple[str, object]]:
    end = timezone.now()
    kinds = code_outcomes.outcomes(end - timedelta(minutes=5), end)
    return sorted((outcome.kind.value, outcome.code.id) for outcome in kinds)


def test_outcome_is_unknown_without_reports(company: Company) -> None:
    begin()
    for _n in range(40):
        own(company)
        own(company, ago=10)  # still awaited, if we had made it

    guard_evidence.count()

    assert outcomes() == []
    assert not GuardEvidence.objects.filter(kind="country").exists()
    assert tried() == 0


def tried() -> int:
    """Codes that the router may learn from."""
    now = timezone.now()
    return len(route_learning._tried_codes(now - timedelta(minutes=9), now))


def test_first_report_makes_other_codes_missed(company: Company) -> None:
    before = own(company, ago=280)
    late = own(company, ago=200, entered_after=90)
    early = own(company, ago=100, entered_after=20)
    missed = own(company, ago=80)

    assert outcomes() == sorted(
        [
            (OutcomeKind.ENTERED.value, late.pk),
            (OutcomeKind.ENTERED.value, early.pk),
            (OutcomeKind.MISSED.value, missed.pk),
        ]
    )
    assert before.pk not in {row for _kind, row in outcomes()}


def test_report_of_eight_days_ago_does_not_count_today(company: Company) -> None:
    own(company, ago=8 * 86_400, entered_after=20)
    own(company)

    assert outcomes() == []


def test_reports_of_another_company_do_not_count(company: Company) -> None:
    other = Company.objects.create(name="other", guard_mode="watch")
    own(other, ago=150, entered_after=10)
    own(company)

    assert [kind for kind, _row in outcomes()] == ["entered"]


def test_figures_exclude_unreported_custom_codes(company: Company) -> None:
    own(company)
    sent(company, ago=100, entered_after=9.0)
    end = timezone.now()

    counts = history.count_breakdowns(
        start=end - timedelta(hours=1), end=end, company_id=company.pk, mode="live"
    )

    (count,) = [row for row in counts if row.dimension == "channel"]
    assert (count.codes, count.entered) == (1, 1)
    assert Message.objects.filter(pk__gte=first_id_at(end - timedelta(hours=1))).count() == 2
    assert Verification.objects.filter(attempts__gt=F("max_attempts")).count() == 0
