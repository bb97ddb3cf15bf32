"""The export of a phone's rows: all of them, and none that belong to other phones."""

import json
from io import StringIO

import orjson
import pytest
from django.core.management import CommandError, call_command

from accounts.models import AuditEvent, Company
from channels.models import BlockedPhone, Message, Receipt
from links.models import Link
from persons import columns
from persons.erasure import erase
from persons.export import CLICKS_OF_LINK, SECTIONS, SECTIONS_EVERYWHERE, export
from persons.person import Person
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    LinkFactory,
    MessageFactory,
    ReceiptFactory,
)
from tests.persons.traces import OTHER, PHONE, create_all_data, create_service_data
from tests.sql import execute

pytestmark = pytest.mark.django_db
BY_NAME = SECTIONS | SECTIONS_EVERYWHERE


def test_every_section_has_its_rows(company: Company) -> None:
    create_all_data(company)
    create_service_data()
    BlockedPhone.objects.create(phone=PHONE)
    LinkFactory.create(url=f"https://wa.me/{PHONE.removeprefix('+')}")

    data = export(person=Person(PHONE))["data"]

    assert {name: len(rows) for name, rows in data.items()} == {
        "messages": 2,
        "attempts": 1,
        "receipts": 1,
        "sms_parts": 1,
        "fallback_events": 0,
        "verifications": 1,
        "links": 2,
        "clicks": 1,
        "link_reports": 1,
        "events": 2,
        "webhook_deliveries": 2,
        "webhook_answers": 2,
        "idempotent_requests": 1,
        "blocked_phones": 1,
        "bot_contacts": 1,
        "vendor_user_ids": 1,
        "alerts": 1,
        "unmatched_receipts": 1,
        "routing_memory": 1,
    }


def test_every_table_that_is_erased_is_exported() -> None:
    exported = {word for section in BY_NAME.values() for word in section.rows.split()}

    assert set(columns.ERASED) - exported == {"django_admin_log"}  # what operators clicked


def test_clicks_that_a_crowd_made_are_left_out(company: Company) -> None:
    """Anybody may open a link a million times, and an export would then take all memory."""
    create_all_data(company)
    link = Link.objects.get(company=company)
    execute(
        "INSERT INTO links_click (link_id, at, kind, referrer, device, country)"
        " SELECT %s, now(), 'person', '', '', '' FROM generate_series(1, %s)",
        [link.pk, CLICKS_OF_LINK + 5],
    )

    clicks = export(person=Person(PHONE, company.pk, link.mode))["data"]["clicks"]

    assert len(clicks) == CLICKS_OF_LINK
    assert clicks[0]["link_id"] == str(link.pk)
    assert clicks == sorted(clicks, key=lambda click: click["at"])


def test_nothing_of_others_is_exported(company: Company) -> None:
    create_all_data(company)
    create_all_data(company, OTHER)
    create_service_data()
    create_service_data(OTHER)

    text = orjson.dumps(export(person=Person(PHONE))).decode()

    assert OTHER.removeprefix("+") not in text


def test_company_exports_its_own_rows_without_what_vendors_wrote(company: Company) -> None:
    create_all_data(company)
    create_all_data(CompanyFactory.create())
    create_service_data()

    data = export(person=Person(PHONE, company.pk, "live"))["data"]

    assert {row["company_id"] for row in data["messages"]} == {company.pk}
    assert set(data) == set(SECTIONS)
    assert {"raw", "provider_id", "ref"} & set(data["receipts"][0]) == set()


def test_ids_are_those_of_the_api(company: Company) -> None:
    message = create_all_data(company)

    data = export(person=Person(PHONE))["data"]

    assert data["messages"][-1]["id"] == message.public_id
    assert data["messages"][-1]["params"]["text"] == f"Dear {PHONE}"
    assert data["links"][0]["url"] == f"https://shop.example/?p={PHONE}"


def test_call_of_a_vendor_about_several_people_is_left_out(company: Company) -> None:
    message = create_all_data(company)
    own = Receipt.objects.get(attempt__message=message)
    assert "raw" in export(person=Person(PHONE))["data"]["receipts"][0]
    ReceiptFactory.create(
        attempt=AttemptFactory.create(message__phone=OTHER),
        provider=own.provider,
        received_at=own.received_at,
    )

    assert "raw" not in export(person=Person(PHONE))["data"]["receipts"][0]


def test_numbers_of_others_in_a_call_are_masked(company: Company) -> None:
    message = create_all_data(company)
    Receipt.objects.filter(attempt__message=message).update(
        raw=f'{{"to": "{PHONE[1:]}", "from": "{OTHER[1:]}"}}'.encode()
    )

    (receipt,) = export(person=Person(PHONE))["data"]["receipts"]

    assert PHONE[1:] in receipt["raw"]
    assert OTHER[1:] not in receipt["raw"]


def test_nothing_that_could_make_a_code_is_exported(company: Company) -> None:
    create_all_data(company)

    (verification,) = export(person=Person(PHONE))["data"]["verifications"]

    assert {"mac", "key_id"} & set(verification) == set()


def test_export_is_audited(company: Company) -> None:
    export(person=Person(PHONE, company.pk))

    event = AuditEvent.objects.get(action="person.exported")
    assert (event.company_id, event.subject) == (company.pk, "+7916*")


def test_erased_person_has_nothing_left_to_export(company: Company) -> None:
    create_all_data(company)
    create_service_data()

    erase(person=Person(PHONE))

    assert not any(export(person=Person(PHONE))["data"].values())


@pytest.mark.parametrize("typed", [PHONE, "8 (916) 123-45-67", "79161234567"])
def test_person_is_erased_by_any_spelling(company: Company, typed: str) -> None:
    create_all_data(company)
    output = StringIO()

    call_command("erase_person", typed, "--yes", stdout=output)

    assert "messages: 2" in output.getvalue().splitlines()
    assert not Message.objects.filter(phone=PHONE).exists()


def test_erasure_asks_first(company: Company, monkeypatch: pytest.MonkeyPatch) -> None:
    create_all_data(company)
    monkeypatch.setattr("builtins.input", lambda _question: "no")

    with pytest.raises(CommandError, match="Nothing was erased"):
        call_command("erase_person", PHONE)

    assert Message.objects.filter(phone=PHONE).count() == 2


def test_open_message_is_named_with_the_time_to_try_again(company: Company) -> None:
    MessageFactory.create(company=company, phone=PHONE, state="sent")

    with pytest.raises(CommandError, match=r"still open .* try again after 20\d\d-"):
        call_command("erase_person", PHONE, "--yes")


@pytest.mark.parametrize("command", ["erase_person", "export_person"])
def test_malformed_phone_is_refused_by_the_export(command: str) -> None:
    with pytest.raises(CommandError, match="is not a phone"):
        call_command(command, "somebody")


def test_export_is_json(company: Company) -> None:
    create_all_data(company)
    output = StringIO()

    call_command("export_person", PHONE, stdout=output)

    exported = json.loads(output.getvalue())
    assert (exported["phone"], len(exported["data"]["messages"])) == (PHONE, 2)
