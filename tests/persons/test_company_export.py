"""The archive has every row of the company once, nobody else's and no secret."""

import csv
import io
import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any
from zipfile import ZipFile

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from accounts.audit import record
from accounts.models import AuditEvent, Member
from accounts.purges import purge_exports
from billing.web.forms import ProfileForm
from cabinet.settings_forms import SECTIONS
from channels.models import Message, stored_fields
from persons import company_export
from persons.erasure import erase
from persons.export_files import BILLING_DETAILS, FILES, SETTINGS
from persons.models import CompanyExport, CompanyExportPart
from persons.person import Person
from tests.api.races import at_once
from tests.cabinet.pages import create_content
from tests.factories import (
    ApiKeyFactory,
    CompanyFactory,
    EndpointFactory,
    LinkFactory,
    MemberFactory,
    MessageFactory,
    TransferFactory,
    VerificationFactory,
)
from tests.persons.traces import PHONE, create_all_data
from tests.reauthentication import mark_reauthenticated

pytestmark = pytest.mark.django_db


@pytest.fixture
def owner(db: None) -> Member:
    return MemberFactory.create(company__name="Лавка")


def make(owner: Member, language: str = "ru") -> CompanyExport:
    export = company_export.start(member=owner, language=language, ip=None)
    while company_export.make_next():
        pass
    export.refresh_from_db()
    return export


def opened(one: CompanyExport) -> dict[str, str]:
    """The files of the archive, by name; their checksums are right."""
    with ZipFile(io.BytesIO(b"".join(company_export.content(one)))) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name).decode("utf-8-sig") for name in archive.namelist()}


def rows(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_archive_has_every_file_and_column(owner: Member) -> None:
    create_content(owner.company)
    CompanyExport.objects.all().delete()

    export = make(owner)

    files = opened(export)
    assert list(files) == ["README.txt", "settings.json", *(file.name for file in FILES)]
    for file in FILES:
        (heading, *_lines) = csv.reader(io.StringIO(files[file.name]))
        assert heading == list(file.columns)
        assert file.name in files["README.txt"]
        assert ", ".join(file.columns) in files["README.txt"]
    assert json.loads(files["settings.json"])["settings"]["name"] == "Лавка"
    assert "Выгрузка компании «Лавка»" in files["README.txt"]
    assert export.state == "ready"
    assert rows(files["messages-live.csv"])
    assert rows(files["audit.csv"])
    assert rows(files["orders.csv"])


def test_archive_has_every_setting_of_the_cabinet() -> None:
    stored = {name for form in SECTIONS.values() for name in form.stored}

    assert len(stored) > 15
    assert stored - set(SETTINGS) == set()
    assert {*ProfileForm.Meta.fields} - set(BILLING_DETAILS) == set()


def test_rows_are_there_once_whatever_the_size_of_a_part(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(company_export, "PART_SIZE", 2)
    company = owner.company
    made = {message.public_id for message in MessageFactory.create_batch(7, company=company)}
    links = {link.slug for link in LinkFactory.create_batch(4, company=company)}
    TransferFactory.create_batch(5, company=company, kind="grant")

    files = opened(make(owner))

    ids = [row["id"] for row in rows(files["messages-live.csv"])]
    assert len(ids) == len(set(ids)) == 7
    assert set(ids) == made
    assert {row["slug"] for row in rows(files["links-live.csv"])} == links
    assert len(rows(files["ledger.csv"])) == 5


def test_outcome_of_a_code_is_listed_with_its_message(owner: Member) -> None:
    now = timezone.now()
    code = VerificationFactory.create(company=owner.company, purpose="sign-in", verified_at=now)
    MessageFactory.create(company=owner.company, kind="code", subject_id=code.id)

    (row,) = rows(opened(make(owner))["messages-live.csv"])

    assert row["code_purpose"] == "sign-in"
    assert row["code_verified_at"].startswith(f"{now:%Y-%m-%dT%H}")


def test_own_texts_of_a_message_are_listed(owner: Member) -> None:
    """An archive without them could not be matched with the company's own orders."""
    texts = {name: f"own {name}" for name in stored_fields.NAMES}
    metadata = {"shop": "7"}
    binding = {"amount": "100.50", "currency": "RUB", "payee": "Shop"}
    code = VerificationFactory.create(company=owner.company, binding=binding)
    MessageFactory.create(
        company=owner.company,
        kind="code",
        subject_id=code.id,
        params={"metadata": metadata},
        **texts,
    )

    (row,) = rows(opened(make(owner))["messages-live.csv"])

    assert {name: row[name] for name in texts} == texts
    assert json.loads(row["metadata"]) == metadata
    assert json.loads(row["code_binding"]) == binding


def test_export_omits_secrets_and_foreign_rows(owner: Member) -> None:
    key = ApiKeyFactory.create(company=owner.company)
    EndpointFactory.create(company=owner.company)
    other = CompanyFactory.create(name="Чужая")
    MessageFactory.create(company=other, phone="+79990001122")
    LinkFactory.create(company=other, url="https://other.example/")
    record("settings.changed", "чужое", company=other, user=None)

    whole = "\n".join(opened(make(owner)).values())

    assert key.plaintext not in whole
    assert bytes(key.digest).hex() not in whole
    for foreign in ("Чужая", "+79990001122", "other.example", "чужое"):
        assert foreign not in whole


def test_spreadsheet_evaluates_nothing(owner: Member) -> None:
    record("settings.changed", '=HYPERLINK("https://evil")', company=owner.company, user=None)

    assert "'=HYPERLINK" in opened(make(owner))["audit.csv"]


def test_killed_worker_loses_no_row(owner: Member, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(company_export, "PART_SIZE", 2)
    MessageFactory.create_batch(5, company=owner.company)
    company_export.start(member=owner, language="ru", ip=None)
    store = company_export._store
    count = [0]

    def die_now_and_then(*args: Any) -> None:
        count[0] += 1
        store(*args)
        if count[0] % 4 == 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(company_export, "_store", die_now_and_then)
    for _attempt in range(100):
        try:
            if not company_export.make_next():
                break
        except KeyboardInterrupt:
            continue

    files = opened(CompanyExport.objects.get())
    ids = [row["id"] for row in rows(files["messages-live.csv"])]
    assert len(ids) == len(set(ids)) == 5


def test_one_archive_is_made_at_a_time(owner: Member) -> None:
    company_export.start(member=owner, language="ru", ip=None)

    with pytest.raises(ValidationError):
        company_export.start(member=owner, language="ru", ip=None)

    assert CompanyExport.objects.count() == 1


def test_archive_stops_if_the_requester_is_no_longer_owner(owner: Member) -> None:
    MessageFactory.create(company=owner.company)
    export = company_export.start(member=owner, language="ru", ip=None)
    company_export.make_next()
    Member.objects.filter(pk=owner.pk).update(role="viewer")

    while company_export.make_next():
        pass

    export.refresh_from_db()
    assert export.state == "stopped"
    assert not CompanyExportPart.objects.exists()


def test_erasure_of_a_person_deletes_archives(owner: Member) -> None:
    create_all_data(owner.company)
    make(owner)
    other = make(MemberFactory.create())

    erase(person=Person(PHONE))

    assert list(CompanyExport.objects.all()) == [other]


def test_old_archives_are_deleted(owner: Member) -> None:
    export = make(owner)
    CompanyExport.objects.update(created_at=timezone.now() - timedelta(days=6))
    assert purge_exports(CompanyExport, 1000) == 0
    CompanyExport.objects.update(created_at=export.created_at - timedelta(days=8))

    assert purge_exports(CompanyExport, 1000) == 1

    assert not CompanyExportPart.objects.exists()


def test_archives_of_a_company_are_limited(owner: Member) -> None:
    made = [make(owner) for _n in range(CompanyExport.MAX_FINISHED + 3)]

    kept = CompanyExport.objects.order_by("created_at")
    assert list(kept) == made[-CompanyExport.MAX_FINISHED - 1 :]


def test_download_requires_reauthentication_and_is_audited(client: Client, owner: Member) -> None:
    export = make(owner)
    client.force_login(owner.user)
    url = reverse("company-export-zip", args=[export.pk])
    assert client.get(url).headers["Location"].startswith("/account/reauthenticate")

    mark_reauthenticated(client, owner.user)
    response = client.get(url)

    assert response.headers["Content-Type"] == "application/zip"
    content: Iterator[bytes] = response.streaming_content  # type: ignore[attr-defined]
    assert ZipFile(io.BytesIO(b"".join(content))).testzip() is None
    actions = list(AuditEvent.objects.order_by("id").values_list("action", flat=True))
    assert actions.count("company.export_downloaded") == actions.count("company.exported") == 1


def test_unfinished_archive_cannot_be_downloaded(client: Client, owner: Member) -> None:
    export = company_export.start(member=owner, language="ru", ip=None)
    client.force_login(owner.user)
    mark_reauthenticated(client, owner.user)

    assert client.get(reverse("company-export-zip", args=[export.pk])).status_code == 404
    assert client.get(reverse("company-export-status", args=[export.pk])).status_code == 200


def test_export_page_query_count_is_constant(client: Client, owner: Member) -> None:
    client.force_login(owner.user)
    client.get(reverse("company-export"))
    counts = []
    for number in (1, 2):
        for _each in range(number):
            make(owner)
        with CaptureQueriesContext(connection) as queries:
            page = client.get(reverse("company-export"))
        counts.append(len(queries))

    assert len(page.context["exports"]) == 3
    assert counts[0] == counts[1]


@pytest.mark.django_db(transaction=True)
def test_concurrent_exports_hold_each_row_once() -> None:
    owner = MemberFactory.create()
    MessageFactory.create_batch(5, company=owner.company)

    def click_and_work() -> bool:
        try:
            company_export.start(member=owner, language="ru", ip=None)
            is_refused = False
        except ValidationError:
            is_refused = True
        while company_export.make_next():
            pass
        return is_refused

    refused = at_once([click_and_work] * 2)
    while company_export.make_next():
        pass

    assert CompanyExport.objects.count() + sum(refused) == 2
    for export in CompanyExport.objects.all():
        result = rows(opened(export)["messages-live.csv"])
        assert len(result) == Message.objects.count() == 5
