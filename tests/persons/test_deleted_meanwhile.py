"""Exports whose company or person is deleted while they are made."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import CsvExport, Member
from cabinet import csv_exports
from persons import company_deletion, company_export, erasure_list
from persons.erasure import erase
from persons.models import CompanyExport
from persons.person import Person
from tests.api.blocking import start_blocked
from tests.factories import MemberFactory, MessageFactory
from tests.persons.traces import PHONE

pytestmark = pytest.mark.django_db(transaction=True)

MODELS: dict[Any, tuple[str, Callable[[], object]]] = {
    CsvExport: ("csv-file-delete", csv_exports.make_next),
    CompanyExport: ("company-export-delete", company_export.make_next),
}
both = pytest.mark.parametrize("model", MODELS)


@pytest.fixture
def owner() -> Member:
    owner = MemberFactory.create()
    MessageFactory.create(company=owner.company, phone=PHONE, state="delivered")
    return owner


def begin(owner: Member, model: Any = None) -> None:
    """Begins a file of each kind, or of the given one."""
    if model is not CompanyExport:
        csv_exports.start(
            kind=csv_exports.KINDS["messages"], member=owner, query="", language="ru", ip=None
        )
    if model is not CsvExport:
        company_export.start(member=owner, language="ru", ip=None)


def while_a_part_is_made(model: Any, delete: Callable[[], object]) -> object:
    """The result of the deletion that waits for the worker."""
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            MODELS[model][1]()
            deleting = start_blocked(pool, delete)
            assert not deleting.done()
        return deleting.result()


@both
def test_member_deletes_the_file(client: Client, owner: Member, model: Any) -> None:
    client.force_login(owner.user)
    begin(owner, model)
    url = reverse(MODELS[model][0], args=[model.objects.get().pk])

    response: Any = while_a_part_is_made(model, lambda: client.post(url))

    assert response.status_code == 302
    assert not model.objects.exists()


@both
def test_person_in_the_file_is_erased(owner: Member, model: Any) -> None:
    begin(owner, model)

    while_a_part_is_made(model, lambda: erase(person=Person(PHONE, owner.company_id)))

    assert not model.objects.exists()
    assert owner.company.messages.get().phone != PHONE


@both
def test_company_is_deleted(owner: Member, model: Any) -> None:
    begin(owner, model)
    company = owner.company
    company.closes_at = company.deleted_at = timezone.now() - company_deletion.SETTLED_AFTER
    company.save()

    while_a_part_is_made(model, company_deletion.run)

    assert not model.objects.exists()


def test_file_begun_while_the_person_is_erased_is_discarded(
    owner: Member, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its rows are read before the erasure is committed."""
    add = erasure_list.add

    def add_meanwhile(person: Person) -> None:
        with ThreadPoolExecutor(1) as pool:
            start_blocked(pool, partial(begin, owner)).result()
            for _name, make_next in MODELS.values():
                start_blocked(pool, make_next).result()
        add(person)

    monkeypatch.setattr(erasure_list, "add", add_meanwhile)

    erase(person=Person(PHONE, owner.company_id))

    assert not CsvExport.objects.exists()
    assert not CompanyExport.objects.exists()
