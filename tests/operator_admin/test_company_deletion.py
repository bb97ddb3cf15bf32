"""The operator hastens and cancels the deletion of a company."""

from datetime import timedelta
from io import BytesIO
from typing import Any
from zipfile import ZipFile

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Mail, Member, User
from accounts.people import planned_deletion
from persons import company_export
from tests.factories import CompanyFactory, MemberFactory, UserFactory

pytestmark = pytest.mark.django_db
LIST = "admin:accounts_company_changelist"


@pytest.fixture
def member(operator: User) -> Member:
    member = MemberFactory.create()
    planned_deletion.request(company=member.company, user=member.user)
    member.company.refresh_from_db()
    return member


def url(company: Company) -> str:
    return reverse("admin:company-deletion", args=[company.pk])


def test_companies_are_filtered_by_stage_of_deletion(client: Client, member: Member) -> None:
    CompanyFactory.create(name="Stays")
    CompanyFactory.create(name="Gone", closes_at=timezone.now(), deleted_at=timezone.now())

    due = client.get(reverse(LIST), {"deletion": "due"})
    done = client.get(reverse(LIST), {"deletion": "done"})

    assert [company.pk for company in due.context["cl"].result_list] == [member.company_id]
    assert [deletion.name for deletion in done.context["cl"].result_list] == ["Gone"]


def test_page_of_the_company_leads_there(client: Client, member: Member) -> None:
    page = client.get(reverse("admin:accounts_company_change", args=[member.company_id]))

    assert url(member.company) in page.content.decode()
    assert client.get(url(member.company)).status_code == 200


def test_operator_cancels_a_planned_deletion(client: Client, member: Member) -> None:
    client.post(url(member.company))

    member.company.refresh_from_db()
    assert member.company.closes_at is None
    assert Mail.objects.filter(to=member.user.email).count() == 2
    assert member.company.audit.filter(action="company.kept").count() == 1


def test_operator_speeds_it_up(client: Client, operator: User, member: Member) -> None:
    client.post(url(member.company), {"days": "1"})

    member.company.refresh_from_db()
    assert member.company.closes_at is not None
    assert member.company.closes_at <= timezone.now() + timedelta(days=1)
    event = member.company.audit.get(action="company.hastened")
    assert event.user == operator
    planned_deletion.warn()
    assert Mail.objects.filter(to=member.user.email).count() == 2


@pytest.mark.parametrize("days", ["", "-1", "30", "x"])
def test_odd_days_are_refused(client: Client, member: Member, days: str) -> None:
    before = member.company.closes_at

    page = client.post(url(member.company), {"days": days})

    member.company.refresh_from_db()
    assert page.context["form"].errors["days"]
    assert member.company.closes_at == before


def test_active_company_has_no_deletion_page(client: Client, operator: User) -> None:
    company = CompanyFactory.create()

    assert client.get(url(company)).status_code == 302
    client.post(url(company), {"days": "0"})
    company.refresh_from_db()
    assert company.closes_at is None


def test_outsider_cannot_cancel_deletion(client: Client, member: Member) -> None:
    client.force_login(UserFactory.create())

    assert client.post(url(member.company)).status_code in {302, 403}
    member.company.refresh_from_db()
    assert member.company.closes_at is not None


def test_deleted_company_gets_no_members(client: Client, operator: User) -> None:
    company = CompanyFactory.create(deleted_at=timezone.now())
    added = {"user": UserFactory.create().pk, "company": company.pk, "role": "owner"}

    page = client.post(reverse("admin:accounts_member_add"), added)

    assert page.context["errors"]
    assert not company.members.exists()


def test_companies_cannot_see_operators(client: Client, operator: User, member: Member) -> None:
    """A person who signs up would know whose password to guess, and from where they work."""
    client.defaults["REMOTE_ADDR"] = "203.0.113.77"
    status = reverse("admin:company-status", args=["suspended"])
    client.post(f"{status}?ids={member.company_id}", {"reason": "Spam"})
    client.post(url(member.company))
    another = UserFactory.create().pk
    added = {"user": another, "company": member.company_id, "role": "owner"}
    client.post(reverse("admin:accounts_member_add"), added)

    reader = Client()
    reader.force_login(member.user)
    pages = [
        reader.get(reverse("audit-list")),
        reader.get(reverse("audit-list"), {"person": operator.email}),
    ]
    export: Any = reader.get(reverse("audit-export"))
    archive = company_export.start(member=member, language="en", ip=None)
    while company_export.make_next():
        pass
    texts = [page.content.decode() for page in pages]
    texts += [b"".join(export.streaming_content).decode()]
    with ZipFile(BytesIO(b"".join(company_export.content(archive)))) as files:
        texts += [files.read("audit.csv").decode()]
    texts += Mail.objects.exclude(to=operator.email).values_list("text", flat=True)

    kept = member.company.audit.filter(user=operator)
    assert {event.action for event in kept} == {"company.suspended", "company.kept", "admin.added"}
    assert {(event.actor, event.ip) for event in kept} == {(operator.email, "203.0.113.77")}
    assert [page.context["events"] != [] for page in pages] == [True, False]
    assert "Оператор сервиса" in texts[0]
    assert not [text for text in texts[:1] + texts[2:] if operator.email in text]
    assert not [text for text in texts if "203.0.113.77" in text]
