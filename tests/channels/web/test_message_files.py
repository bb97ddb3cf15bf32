"""Long files of messages: made in parts, each row once, for the member who asked."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import purges
from accounts.models import AuditEvent, Company, Member
from channels.history import export
from channels.history.export import make_next
from channels.models import Message, MessageExport, MessageExportPart
from channels.tasks import make_message_files
from channels.web.forms import filter_of
from persons.erasure import erase
from persons.person import Person
from tests.api.races import at_once
from tests.factories import MemberFactory, MessageFactory

State = MessageExport.State


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "SHORT", 3)
    monkeypatch.setattr(export, "PART_SIZE", 2)


def ask(client: Client, query: str = "mode=live") -> MessageExport:
    response = client.post(f"{reverse('message-files')}?{query}")
    assert response.status_code == 302
    return MessageExport.objects.latest("created_at")


def download(client: Client, one: MessageExport) -> list[str]:
    response: Any = client.get(reverse("message-file", args=[one.pk]))
    assert response.status_code == 200
    text = b"".join(response.streaming_content).decode()
    assert text.count("\ufeff") == 1
    return text.splitlines()


def test_short_list_is_streamed_and_a_long_one_leads_to_the_files(
    client: Client, owner: Member
) -> None:
    MessageFactory.create_batch(3, company=owner.company)
    assert client.get(reverse("message-export"))["Content-Type"].startswith("text/csv")
    MessageFactory.create(company=owner.company)

    response = client.get(f"{reverse('message-export')}?mode=live&kind=code")

    assert response["Location"] == f"{reverse('message-files')}?mode=live&kind=code"
    assert "Подготовить файл" in client.get(response["Location"]).content.decode()
    assert not MessageExport.objects.exists()


def test_file_has_each_row_once_newest_first(client: Client, owner: Member) -> None:
    made = MessageFactory.create_batch(7, company=owner.company)
    MessageFactory.create(company=owner.company, mode="test")
    file = ask(client)

    make_message_files()

    file.refresh_from_db()
    assert (file.state, file.rows, file.percent) == (State.READY, 7, 100)
    header, *rows = download(client, file)
    assert "Номер сообщения" in header
    assert [row.split(";")[1].strip('"') for row in rows] == [
        message.public_id for message in sorted(made, key=lambda m: m.created_at, reverse=True)
    ]


def test_file_of_messages_keeps_the_filter(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(2, company=owner.company, channel="sms", price=16)
    MessageFactory.create_batch(5, company=owner.company)
    file = ask(client, "mode=live&channel=sms&cursor=x&follow=1")

    make_message_files()

    assert file.query == "mode=live&channel=sms"
    assert len(download(client, file)) == 3


@pytest.mark.django_db(transaction=True)
def test_workers_share_a_file_without_repeating(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(21, company=owner.company)
    file = ask(client)

    def work() -> None:
        while MessageExport.objects.unfinished().exists():
            make_next(filter_of)

    at_once([work] * 3)

    rows = download(client, file)
    assert len(rows) == len(set(rows)) == 22


def _die_before_the_commit(_company: Company) -> None:
    with transaction.atomic():
        make_next(filter_of)
        transaction.set_rollback(True)


def _send_another(company: Company) -> None:
    MessageFactory.create(company=company)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("meanwhile", [_die_before_the_commit, _send_another])
def test_file_repeats_no_row_whatever_happens_between_its_parts(
    client: Client, owner: Member, meanwhile: Callable[[Company], None]
) -> None:
    MessageFactory.create_batch(9, company=owner.company)
    file = ask(client)
    make_next(filter_of)

    meanwhile(owner.company)
    make_message_files()

    assert len(set(download(client, file))) == 10


def test_file_is_only_for_its_member(client: Client, owner: Member) -> None:
    file = ask(client)
    make_message_files()
    colleague = MemberFactory.create(company=owner.company)

    other = Client()
    other.force_login(colleague.user)

    for name in ("message-file", "message-file-status"):
        assert other.get(reverse(name, args=[file.pk])).status_code == 404
    assert other.post(reverse("message-file-delete", args=[file.pk])).status_code == 404
    assert list(other.get(reverse("message-files")).context["files"]) == []


def test_viewer_gets_masked_phones(client: Client, owner: Member) -> None:
    Member.objects.update(role=Member.Role.VIEWER)
    message = MessageFactory.create(company=owner.company)
    file = ask(client)

    make_message_files()

    text = "\n".join(download(client, file))
    assert message.phone.removeprefix("+") not in text
    assert "•" in text or "*" in text or "…" in text


def test_lowered_role_gets_and_makes_no_whole_file(client: Client, owner: Member) -> None:
    ready = ask(client)
    make_message_files()
    waiting = ask(client)
    Member.objects.update(role=Member.Role.VIEWER)

    make_message_files()

    assert client.get(reverse("message-file", args=[ready.pk])).status_code == 404
    waiting.refresh_from_db()
    assert (waiting.state, waiting.parts.count()) == (State.STOPPED, 0)


def test_member_who_left_gets_no_file(client: Client, owner: Member) -> None:
    file = ask(client)
    owner.delete()

    make_message_files()

    file.refresh_from_db()
    assert file.state == State.STOPPED


def test_file_that_is_not_ready_is_not_found(client: Client, owner: Member) -> None:
    file = ask(client)

    assert client.get(reverse("message-file", args=[file.pk])).status_code == 404
    assert client.get(reverse("message-file-status", args=[file.pk])).status_code == 200


def test_fourth_unfinished_file_is_refused(client: Client, owner: Member) -> None:
    for _n in range(3):
        ask(client)

    response = client.post(f"{reverse('message-files')}?mode=live")

    assert "Уже готовятся три файла" in response.content.decode()
    assert MessageExport.objects.count() == 3


def test_file_by_an_invalid_filter_is_refused(client: Client, owner: Member) -> None:
    response = client.post(f"{reverse('message-files')}?mode=live&date_from=2026-02-30")

    assert "Неверный фильтр" in response.content.decode()
    assert not MessageExport.objects.exists()


def test_request_is_audited_without_a_phone(client: Client, owner: Member) -> None:
    ask(client, "mode=live&phone=%2B79161234567")

    event = AuditEvent.objects.get(action="history.exported")
    assert "7916" not in event.subject


def test_erasure_deletes_the_files_of_the_company(client: Client, owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, state="delivered", price=0)
    ask(client, f"mode=live&phone=%2B{message.phone[1:]}")
    make_message_files()
    Message.objects.update(created_at=timezone.now() - timedelta(days=2))

    erase(person=Person(message.phone, owner.company_id, "live"))

    assert not MessageExport.objects.exists()
    assert not MessageExportPart.objects.exists()


def test_files_go_after_three_days(client: Client, owner: Member) -> None:
    file = ask(client)
    make_message_files()
    for _ in range(24):  # more than one run deletes at a time
        file.pk = None
        file._state.adding = True
        file.save()
    MessageExport.objects.update(created_at=timezone.now() - timedelta(days=3, minutes=1))

    purges.purge()

    assert not MessageExport.objects.exists()


def test_member_cancels_a_file(client: Client, owner: Member) -> None:
    file = ask(client)

    client.post(reverse("message-file-delete", args=[file.pk]))

    assert not MessageExport.objects.exists()
    assert make_next(filter_of) is False


def test_files_of_a_member_have_a_bound(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may have a million rows, and a viewer may ask for one after the other."""
    monkeypatch.setattr(MessageExport, "MAX_FINISHED", 2)
    colleague = MemberFactory.create(company=owner.company)
    theirs = export.start(member=colleague, mode="live", query="", language="ru", ip=None)
    for _n in range(5):
        newest = ask(client)
        make_message_files()

    assert MessageExport.objects.filter(user=owner.user).count() == 3
    assert {theirs, newest} <= set(MessageExport.objects.all())
