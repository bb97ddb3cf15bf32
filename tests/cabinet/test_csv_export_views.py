"""The page of a member's CSV files: who may request, see, download and delete which."""

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import AuditEvent, CsvExport, Member
from accounts.tasks import make_files
from cabinet.csv_exports import KINDS, make_next
from tests.cabinet.csv_files import FILL, request_file
from tests.factories import MemberFactory

State = CsvExport.State
each_kind = pytest.mark.parametrize("kind", KINDS)


@each_kind
def test_file_is_only_for_its_member_in_its_company(
    client: Client, owner: Member, kind: str
) -> None:
    FILL[kind](owner.company, 1)
    export = request_file(client, kind)
    make_files()
    colleague = MemberFactory.create(company=owner.company, role=Member.Role.OWNER)
    elsewhere = MemberFactory.create(user=owner.user, role=Member.Role.OWNER)

    for member in (colleague, elsewhere):
        other = Client()
        other.force_login(member.user)
        if member is elsewhere:
            other.post(reverse("company-switch"), {"company": member.company_id})
        for name in ("csv-file", "csv-file-status"):
            assert other.get(reverse(name, args=[export.pk])).status_code == 404
        assert other.post(reverse("csv-file-delete", args=[export.pk])).status_code == 404
        assert list(other.get(reverse("csv-files")).context["files"]) == []


@each_kind
def test_roles_that_do_not_open_the_list_get_no_file(client: Client, db: None, kind: str) -> None:
    for role in Member.Role.values:
        member = MemberFactory.create(role=role)
        client.force_login(member.user)
        expected = 200 if client.get(reverse(KINDS[kind].page)).status_code == 200 else 403
        address = reverse("csv-file-request", args=[kind])

        assert client.get(address).status_code == expected
        assert client.post(address).status_code == (302 if expected == 200 else 403)
        assert CsvExport.objects.filter(user=member.user).count() == (expected == 200)


@each_kind
def test_another_role_gets_and_makes_no_file_of_the_earlier_one(
    client: Client, owner: Member, kind: str
) -> None:
    ready = request_file(client, kind)
    make_files()
    waiting = request_file(client, kind)
    Member.objects.update(role=Member.Role.VIEWER)

    make_files()

    assert client.get(reverse("csv-file", args=[ready.pk])).status_code == 404
    assert client.get(reverse("csv-files")).content.decode().count("изменилась ваша роль") == 2
    waiting.refresh_from_db()
    assert (waiting.state, waiting.parts.count()) == (State.STOPPED, 0)


def test_file_that_is_not_ready_is_not_found(client: Client, owner: Member) -> None:
    export = request_file(client, "messages")

    assert client.get(reverse("csv-file", args=[export.pk])).status_code == 404
    assert client.get(reverse("csv-file-status", args=[export.pk])).status_code == 200


def test_fourth_unfinished_file_is_refused(client: Client, owner: Member) -> None:
    for kind in ("messages", "links", "statement"):
        request_file(client, kind)

    response = client.post(reverse("csv-file-request", args=["audit"]))

    assert "Уже готовятся три файла" in response.content.decode()
    assert CsvExport.objects.count() == 3


def test_file_by_an_invalid_filter_is_refused(client: Client, owner: Member) -> None:
    address = reverse("csv-file-request", args=["messages"])

    response = client.post(f"{address}?mode=live&date_from=2026-02-30")

    assert "Неверный фильтр" in response.content.decode()
    assert not CsvExport.objects.exists()


def test_unknown_kind_is_not_found(client: Client, owner: Member) -> None:
    assert client.get(reverse("csv-file-request", args=["pets"])).status_code == 404


def test_request_is_audited_without_a_phone(client: Client, owner: Member) -> None:
    request_file(client, "messages", "mode=live&phone=%2B79161234567")

    event = AuditEvent.objects.get(action="history.exported")
    assert event.subject == "mode, phone"


def test_member_cancels_a_file(client: Client, owner: Member) -> None:
    export = request_file(client, "messages")

    client.post(reverse("csv-file-delete", args=[export.pk]))

    assert not CsvExport.objects.exists()
    assert make_next() is False
