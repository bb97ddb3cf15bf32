"""People whom a restored backup brings back are erased again, by the list of erasures."""

from datetime import timedelta
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import CommandError, call_command
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company
from channels.models import Contact, Message
from persons import erasure_list
from persons.erasure import Reapplication, erase, reapply_erasures
from persons.models import Erasure
from persons.person import Person
from tests.factories import CompanyFactory, MessageFactory
from tests.persons.traces import OTHER, PHONE, create_all_data, create_service_data

pytestmark = pytest.mark.django_db
A_MINUTE = timedelta(minutes=1)


def restore(company: Company, phone: str = PHONE) -> None:
    """The rows of the person as they were before the erasure; the list is kept."""
    create_all_data(company, phone)
    create_service_data(phone)
    Message.objects.update(created_at=timezone.now() - A_MINUTE)
    Contact.objects.update(shared_at=timezone.now() - A_MINUTE)


def phones() -> set[str]:
    return set(Message.objects.values_list("phone", flat=True))


def test_person_is_erased_again(company: Company) -> None:
    erase(person=Person(PHONE))
    restore(company)
    restore(company, OTHER)

    done = reapply_erasures()

    assert done == Reapplication(erased=1, unfinished=0, unknown=0)
    assert phones() == {"+7916*", OTHER}
    assert list(Contact.objects.values_list("phone", flat=True)) == [OTHER]


@pytest.mark.parametrize(
    ("erased", "restored"),
    [("+551187654321", "+5511987654321"), ("+5511987654321", "+551187654321")],
)
def test_person_is_erased_again_under_any_spelling(
    company: Company, erased: str, restored: str
) -> None:
    erase(person=Person(erased))
    restore(company, restored)

    done = reapply_erasures()

    assert done.erased == 1
    assert not Contact.objects.exists()


def test_erasure_of_a_company_is_reapplied_to_that_company(company: Company) -> None:
    other = CompanyFactory.create()
    create_all_data(company)
    erase(person=Person(PHONE, company.pk, "live"))
    Message.objects.all().delete()
    restore(company)
    create_all_data(other)

    reapply_erasures()

    assert set(Message.objects.filter(company=company).values_list("phone", flat=True)) == {
        "+7916*"
    }
    assert set(Message.objects.filter(company=other).values_list("phone", flat=True)) == {PHONE}


def test_messages_after_the_erasure_stay(company: Company) -> None:
    erase(person=Person(PHONE))
    Erasure.objects.update(erased_at=timezone.now() - A_MINUTE)
    MessageFactory.create(company=company, phone=PHONE, state="delivered")

    assert reapply_erasures().erased == 0
    assert phones() == {PHONE}


def test_repeating_it_changes_nothing_and_moves_no_date(company: Company) -> None:
    erase(person=Person(PHONE))
    restore(company)
    erased_at = Erasure.objects.get().erased_at
    reapply_erasures()

    assert reapply_erasures() == Reapplication(0, 0, 0)
    assert Erasure.objects.get().erased_at == erased_at


def test_message_that_is_open_again_is_waited_for(company: Company) -> None:
    erase(person=Person(PHONE))
    restore(company)
    Message.objects.filter(kind="code").update(state="sent")

    assert reapply_erasures() == Reapplication(erased=0, unfinished=1, unknown=0)
    with pytest.raises(CommandError, match="run this again"):
        call_command("reapply_erasures", stdout=StringIO())


def test_keys_rotate_under_the_list(company: Company, settings: Settings) -> None:
    erase(person=Person(PHONE))
    restore(company)
    settings.WEBHOOK_KEYS = {"new": b"n" * 32} | settings.WEBHOOK_KEYS

    assert reapply_erasures().erased == 1


def test_entries_of_a_lost_key_are_reported(settings: Settings) -> None:
    erase(person=Person(PHONE))
    settings.WEBHOOK_KEYS = {"new": b"n" * 32}

    assert reapply_erasures() == Reapplication(erased=0, unfinished=0, unknown=1)
    with pytest.raises(CommandError, match="no longer in WEBHOOK_KEYS"):
        call_command("reapply_erasures", stdout=StringIO())


def test_list_survives_outside_the_database(company: Company, tmp_path: Path) -> None:
    erase(person=Person(PHONE))
    listed = StringIO()
    output = StringIO()
    call_command("reapply_erasures", "--list", stdout=listed)
    file = tmp_path / "erasures"
    file.write_text(listed.getvalue(), encoding="utf-8")
    Erasure.objects.all().delete()  # the backup is older than the erasure
    restore(company)

    call_command("reapply_erasures", str(file), stdout=output)

    assert PHONE[1:] not in listed.getvalue()
    assert output.getvalue().splitlines() == ["1 entries read.", "1 persons erased again."]
    assert phones() == {"+7916*"}


@pytest.mark.parametrize(
    "text",
    [
        b"\xff",
        b"phones",
        b"[]",
        b"{}",
        b'{"phone_hash": "zz"}',
        b"null",
        b'{"company_id": "x", "mode": "", "key_id": "1", "phone_hash": "00", "erased_at": null}',
        b'{"company_id": null, "mode": null, "key_id": "1", "phone_hash": "00", "erased_at": null}',
        b'{"company_id": null, "mode": {}, "key_id": "1", "phone_hash": "00", "erased_at": null}',
    ],
)
def test_file_that_is_not_a_list_is_refused_in_a_sentence(
    transactional_db: None, tmp_path: Path, text: bytes
) -> None:
    (tmp_path / "list").write_bytes(text)

    for name in ("list", "missing", "."):
        with pytest.raises(CommandError, match="is not what --list prints"):
            call_command("reapply_erasures", str(tmp_path / name))

    assert not Erasure.objects.exists()


def test_restore_says_that_the_file_is_not_a_list(db: None) -> None:
    values = '"mode": "", "key_id": "1", "phone_hash": "00", "erased_at": null'

    with pytest.raises(ValueError, match=r"line 2: DataError"):
        erasure_list.load([f'{{"company_id": 1, {values}}}', f'{{"company_id": "x", {values}}}'])
