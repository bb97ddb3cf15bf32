"""Lists as CSV: each kind at once or as a file in parts, each row once, for who asked."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts import purges
from accounts.models import AuditEvent, Company, CsvExport, CsvExportPart, Member
from accounts.tasks import make_files
from cabinet import csv_exports
from cabinet.csv_exports import KINDS, CsvKind, make_next
from channels.models import Message
from persons.erasure import erase
from persons.person import Person
from tests.api.races import at_once
from tests.cabinet.csv_files import FILL, QUERY, ROUTES, download, file_of, request_file
from tests.factories import LinkFactory, MemberFactory, MessageFactory, TransferFactory

State = CsvExport.State
each_kind = pytest.mark.parametrize("kind", KINDS)
PHONE = "+79161230089"


@pytest.fixture(autouse=True)
def _short_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(csv_exports, "SHORT", 3)
    monkeypatch.setattr(csv_exports, "PART_SIZE", 2)
    monkeypatch.setattr("billing.wallet.statement.BATCH_SIZE", 2)


def lines_of(client: Client, export: CsvExport) -> list[str]:
    text = file_of(client, export).decode()
    assert text.count("\ufeff") == 1
    return text.splitlines()


def test_every_kind_has_a_route_and_rows() -> None:
    assert set(KINDS) == set(ROUTES) == set(FILL)


@each_kind
def test_long_list_is_made_in_the_background_with_the_same_bytes(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    FILL[kind](owner.company, 7)
    query = QUERY.get(kind, "")
    with monkeypatch.context() as patch:
        patch.setattr(csv_exports, "SHORT", 100)
        response_body = download(client, ROUTES[kind], query)

    offered = client.get(f"{reverse(ROUTES[kind])}?{query}")
    assert offered["Location"] == f"{reverse('csv-file-request', args=[kind])}?{query}"
    assert "Подготовить файл" in client.get(offered["Location"]).content.decode()
    assert not CsvExport.objects.exists()
    export = request_file(client, kind, query)
    make_files()

    export.refresh_from_db()
    assert (export.state, export.rows) == (State.READY, 7)
    assert export.parts.count() > 2
    assert file_of(client, export) == response_body
    subjects = AuditEvent.objects.filter(action=KINDS[kind].action).values_list("subject")
    assert len(subjects) == 2
    assert len(set(subjects)) == 1


@pytest.mark.django_db(transaction=True)
@each_kind
def test_workers_share_a_file_without_repeating(client: Client, owner: Member, kind: str) -> None:
    FILL[kind](owner.company, 21)
    export = request_file(client, kind)

    def work() -> None:
        while CsvExport.objects.unfinished().exists():
            make_next()

    at_once([work] * 3)

    lines = lines_of(client, export)
    assert len(lines) == len(set(lines)) == 22


def _die_before_the_commit(_kind: str, _company: Company) -> None:
    with transaction.atomic():
        make_next()
        transaction.set_rollback(True)


def _add_another(kind: str, company: Company) -> None:
    FILL[kind](company, 1)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("meanwhile", [_die_before_the_commit, _add_another])
@each_kind
def test_file_repeats_no_row_whatever_happens_between_its_parts(
    client: Client, owner: Member, meanwhile: Callable[[str, Company], None], kind: str
) -> None:
    FILL[kind](owner.company, 9)
    export = request_file(client, kind)
    make_next()

    meanwhile(kind, owner.company)
    make_files()

    # The newest line is the last one of a statement, and before the first one of other lists.
    is_added = meanwhile is _add_another and KINDS[kind].is_oldest_first
    assert len(set(lines_of(client, export))) == len(lines_of(client, export)) == 10 + is_added


@each_kind
def test_only_lists_that_prove_something_exceed_a_sheet(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    monkeypatch.setattr(CsvKind, "max_rows", 4)
    FILL[kind](owner.company, 7)
    export = request_file(client, kind)

    make_files()

    assert len(lines_of(client, export)) == 1 + (4 if KINDS[kind].max_rows else 7)


@each_kind
def test_progress_grows_to_the_end(client: Client, owner: Member, kind: str) -> None:
    FILL[kind](owner.company, 9)
    export = request_file(client, kind)

    shown = []
    while make_next():
        export.refresh_from_db()
        shown.append(export.percent)

    assert shown == sorted(shown)
    assert all(0 <= percent < 100 for percent in shown)


@pytest.mark.parametrize("role", [Member.Role.VIEWER, Member.Role.ACCOUNTANT])
@each_kind
def test_roles_with_masked_phones_get_masked_files(
    client: Client, owner: Member, kind: str, role: str
) -> None:
    MessageFactory.create(company=owner.company, phone=PHONE, reference=f"order-{PHONE[1:]}")
    LinkFactory.create(company=owner.company, url=f"https://example.com/?to={PHONE[1:]}")
    Member.objects.update(role=role)
    owner.refresh_from_db()
    if not KINDS[kind].allows(owner):
        return
    export = request_file(client, kind)

    make_files()

    text = "\n".join(lines_of(client, export))
    assert PHONE[1:] not in text
    assert kind not in {"messages", "links"} or "•" in text


@each_kind
def test_failed_file_of_a_company_holds_up_no_other(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    FILL[kind](owner.company, 1)
    failing = request_file(client, kind)
    other = MemberFactory.create(role=Member.Role.OWNER)
    client.force_login(other.user)
    fine = request_file(client, kind)
    part = KINDS[kind].part

    def broken_for_one(download: csv_exports.Download, start: Any) -> Any:
        if download.member.company_id == owner.company_id:
            raise OverflowError
        return part(download, start)

    monkeypatch.setattr(KINDS[kind], "part", broken_for_one)

    make_files()

    for export in (failing, fine):
        export.refresh_from_db()
    assert (failing.state, fine.state) == (State.RUNNING, State.READY)


@each_kind
def test_erasure_deletes_the_files_of_the_company(client: Client, owner: Member, kind: str) -> None:
    message = MessageFactory.create(company=owner.company, state="delivered", price=0)
    request_file(client, kind)
    make_files()
    Message.objects.update(created_at=timezone.now() - timedelta(days=2))

    erase(person=Person(message.phone, owner.company_id, "live"))

    assert not CsvExport.objects.exists()
    assert not CsvExportPart.objects.exists()


def test_file_keeps_the_filter(client: Client, owner: Member) -> None:
    MessageFactory.create_batch(2, company=owner.company, channel="sms", price=16)
    MessageFactory.create_batch(5, company=owner.company)
    MessageFactory.create(company=owner.company, mode="test", channel="sms")
    export = request_file(client, "messages", "mode=live&channel=sms&cursor=x&follow=1")

    make_files()

    assert export.query == "mode=live&channel=sms"
    assert len(lines_of(client, export)) == 3


def test_long_filter_fits(client: Client, owner: Member) -> None:
    export = request_file(client, "links", f"search={'я' * 200}")

    make_files()

    export.refresh_from_db()
    assert export.state == State.READY


def test_parts_search_for_what_was_asked(client: Client, owner: Member) -> None:
    """A link named like the text since then must not end the file."""
    LinkFactory.create_batch(5, company=owner.company, url="https://example.com/autumn")
    export = request_file(client, "links", "search=autumn")
    make_next()
    LinkFactory.create(company=owner.company, slug="autumn", is_alias=True)

    make_files()

    assert len(lines_of(client, export)) == 6


def test_file_without_its_filter_is_stopped(client: Client, owner: Member) -> None:
    """Else it would have other rows than requested."""
    FILL["links"](owner.company, 5)
    export = request_file(client, "links", "state=active")
    CsvExport.objects.update(query="state=no-such-state")

    make_files()

    export.refresh_from_db()
    assert (export.state, export.parts.count()) == (State.STOPPED, 0)


def test_statement_goes_on_with_its_balance(client: Client, owner: Member) -> None:
    """Holds and releases store no balance: the second part begins with one."""
    FILL["statement"](owner.company, 2)
    TransferFactory.create_batch(3, company=owner.company, kind="hold")
    export = request_file(client, "statement", "kind=all")

    make_files()

    balances = [line.split(";")[4] for line in lines_of(client, export)[1:]]
    assert balances == ["1", "3", "3", "3", "3"]


@pytest.mark.django_db(transaction=True)
def test_audit_log_lacks_the_event_of_its_download(client: Client, owner: Member) -> None:
    FILL["audit"](owner.company, 2)

    export = request_file(client, "audit")
    make_files()

    assert len(lines_of(client, export)) == 3


def test_member_who_left_gets_no_file(client: Client, owner: Member) -> None:
    export = request_file(client, "messages")
    owner.delete()

    make_files()

    export.refresh_from_db()
    assert export.state == State.STOPPED


def test_files_go_after_three_days(client: Client, owner: Member) -> None:
    export = request_file(client, "messages")
    make_files()
    for _ in range(24):  # more than one run deletes at a time
        export.pk = None
        export._state.adding = True
        export.save()
    CsvExport.objects.update(created_at=timezone.now() - timedelta(days=3, minutes=1))

    purges.purge()

    assert not CsvExport.objects.exists()


def test_files_of_a_member_have_a_bound(
    client: Client, owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each may have a million rows, and a viewer may ask for one after the other."""
    monkeypatch.setattr(CsvExport, "MAX_FINISHED", 2)
    colleague = MemberFactory.create(company=owner.company)
    theirs = csv_exports.start(
        kind=KINDS["links"], member=colleague, query="", language="ru", ip=None
    )
    for _n in range(5):
        newest = request_file(client, "messages")
        make_files()

    assert CsvExport.objects.filter(user=owner.user).count() == 3
    assert {theirs, newest} <= set(CsvExport.objects.all())
