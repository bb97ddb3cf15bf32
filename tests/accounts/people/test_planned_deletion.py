"""An owner asks for the deletion of the company, once, and may keep it until it is done."""

from datetime import timedelta
from functools import partial

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Company, Mail
from accounts.people import planned_deletion
from tests.api.races import at_once
from tests.factories import MemberFactory, UserFactory


def actions(company: Company) -> list[str]:
    return list(company.audit.order_by("id").values_list("action", flat=True))


@pytest.mark.django_db
def test_request_sets_the_day_and_notifies_every_owner() -> None:
    member = MemberFactory.create(user__language="ru")
    other = MemberFactory.create(company=member.company, user__language="en")
    MemberFactory.create(company=member.company, role="developer")

    assert planned_deletion.request(company=member.company, user=member.user, ip="203.0.113.7")

    member.company.refresh_from_db()
    closes_at = member.company.closes_at
    assert closes_at is not None
    assert timedelta(days=29) < closes_at - timezone.now() <= planned_deletion.GRACE_PERIOD
    emails = {mail.to: mail.text for mail in Mail.objects.all()}
    assert set(emails) == {member.user.email, other.user.email}
    assert f"{member.user.email} asked to delete" in emails[other.user.email]
    assert "запрошено удаление компании" in emails[member.user.email]
    assert actions(member.company) == ["company.closing"]
    event = AuditEvent.objects.get()
    assert event.changes is not None
    assert event.changes["closes_at"][0] is None


@pytest.mark.django_db
def test_repeated_request_changes_nothing() -> None:
    member = MemberFactory.create()
    planned_deletion.request(company=member.company, user=member.user)
    Company.objects.update(closes_at=timezone.now() + timedelta(days=3))
    before = Company.objects.get().closes_at

    assert not planned_deletion.request(company=member.company, user=member.user)

    assert Company.objects.get().closes_at == before
    assert Mail.objects.count() == 1


@pytest.mark.django_db
def test_company_is_stored_once() -> None:
    member = MemberFactory.create()
    planned_deletion.request(company=member.company, user=member.user)

    assert planned_deletion.call_off(company=member.company, user=member.user)
    assert not planned_deletion.call_off(company=member.company, user=member.user)

    assert Company.objects.get().closes_at is None
    assert actions(member.company) == ["company.closing", "company.kept"]
    assert Mail.objects.count() == 2


@pytest.mark.django_db
def test_deleted_company_cannot_be_kept_or_hastened() -> None:
    now = timezone.now()
    member = MemberFactory.create(company__closes_at=now, company__deleted_at=now)

    assert not planned_deletion.call_off(company=member.company, user=member.user)
    assert not planned_deletion.bring_forward(company=member.company, at=now, user=member.user)
    assert not planned_deletion.request(company=member.company, user=member.user)


@pytest.mark.django_db
def test_day_moves_earlier_only() -> None:
    member = MemberFactory.create()
    operator = UserFactory.create(is_staff=True)
    planned_deletion.request(company=member.company, user=member.user)
    now = timezone.now()

    assert not planned_deletion.bring_forward(
        company=member.company, at=now + timedelta(days=40), user=operator
    )
    assert planned_deletion.bring_forward(
        company=member.company, at=now + timedelta(days=2), user=operator
    )

    assert Company.objects.get().closes_at == now + timedelta(days=2)
    assert Mail.objects.filter(to=operator.email).count() == 0
    assert Mail.objects.filter(to=member.user.email).count() == 2


@pytest.mark.django_db
def test_owners_are_warned_once_for_each_day() -> None:
    member = MemberFactory.create()
    far = MemberFactory.create(company__closes_at=timezone.now() + timedelta(days=8))
    Company.objects.filter(pk=member.company_id).update(
        closes_at=timezone.now() + timedelta(days=6)
    )

    planned_deletion.warn()
    planned_deletion.warn()

    assert Mail.objects.filter(to=member.user.email).count() == 1
    assert Mail.objects.filter(to=far.user.email).count() == 0
    planned_deletion.call_off(company=member.company, user=member.user)
    Company.objects.filter(pk=member.company_id).update(
        closes_at=timezone.now() + timedelta(days=5)
    )
    planned_deletion.warn()
    assert Mail.objects.filter(to=member.user.email).count() == 3  # warned, kept, warned


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_ask_once() -> None:
    member = MemberFactory.create()
    click = partial(planned_deletion.request, company=member.company, user=member.user)

    responses = at_once([click] * 2)

    assert sorted(responses) == [False, True]
    assert Mail.objects.count() == 1
    assert actions(member.company) == ["company.closing"]
