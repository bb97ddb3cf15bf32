"""An erasure leaves no trace of the phone, and nothing of anybody else is touched."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import AuditEvent, Company
from catalogue.ids import uuid7
from channels import reconciliation
from channels.accept import send_limits
from channels.models import BlockedPhone, Contact, KnownRecipient, Message, Receipt, RememberedPhone
from channels.outcomes import due_receipts, inbound_receipts
from channels.providers.inbound import InboundEvents, Recipient
from otp.check.settlement import settle_verified
from otp.models import Verification
from otp.protection import requesters
from persons import columns
from persons.erasure import NotFinishedError, erase
from persons.models import Erasure
from persons.person import Person
from storage.atomic_limits import hashed
from storage.redis_client import redis_client
from tests.api.clients import Api
from tests.channels.message_stages import accepted
from tests.channels.outcomes.test_inbound_receipts import receipt
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    DeliveryFactory,
    EventFactory,
    MessageFactory,
    ReceiptFactory,
    VerificationFactory,
)
from tests.otp.sent_codes import code_of, wrong_code
from tests.persons.traces import OTHER, PHONE, create_all_data, create_service_data, rows_naming
from tests.sql import execute
from webhooks.models import DeliveryAttempt, Event, EventKind

pytestmark = pytest.mark.django_db


def tables() -> list[str]:
    rows = execute(
        "SELECT relname FROM pg_class WHERE relnamespace = 'public'::regnamespace"
        " AND relkind IN ('r', 'p') AND NOT relispartition"
    )
    return [name for (name,) in rows]


def test_no_table_names_the_phone_afterwards(company: Company) -> None:
    create_all_data(company)
    create_service_data()
    before = {table for table in columns.ERASED if rows_naming(PHONE, table)}

    erase(person=Person(PHONE))

    # The first loses the vendor's id of the person, the second the hash of the phone.
    unnamed = {"channels_knownrecipient", "channels_rememberedphone"}
    assert set(columns.ERASED) - before <= unnamed
    assert {table for table in columns.ERASED if rows_naming(PHONE, table)} == set()


@pytest.mark.parametrize("kind", EventKind.values)
def test_event_of_any_kind_loses_the_phone(company: Company, kind: str) -> None:
    message = create_all_data(company)
    Event.objects.all().delete()
    event = Event.objects.create(
        company=company,
        mode=message.mode,
        kind=kind,
        key=message.public_id,
        data={"phone": PHONE},
        at=timezone.now(),
    )

    erase(person=Person(PHONE))

    event.refresh_from_db()
    assert event.data == {"phone": Person(PHONE).anonymised}


@pytest.mark.parametrize("is_everywhere", [True, False])
def test_neither_hash_of_phone_nor_of_address_and_device_is_left(
    company: Company, *, is_everywhere: bool
) -> None:
    message = create_all_data(company)
    create_service_data()
    sender = {kind: requesters.hashed(company.pk, kind, "1") for kind in ("ip", "device")}
    Message.objects.filter(pk=message.pk).update(
        params={"brand": "x", "sender": sender, "added_later": PHONE}
    )

    erase(person=Person(PHONE, None if is_everywhere else company.pk))

    message.refresh_from_db()
    assert message.params == {"brand": "x"}
    assert not RememberedPhone.objects.exists()


def test_erased_phone_stays_only_in_block_list(company: Company) -> None:
    create_all_data(company)
    create_all_data(company, mode="test")
    create_service_data()
    BlockedPhone.objects.create(phone=PHONE, said_stop=True)

    erase(person=Person(PHONE))

    result = {table for table in tables() if rows_naming(PHONE, table)}
    assert result == {"channels_blockedphone"}


def test_nothing_names_an_old_spelling_of_the_phone(company: Company) -> None:
    old, new = "+551187654321", "+5511987654321"
    create_all_data(company, old)
    create_service_data(old)

    counts = erase(person=Person(new))

    assert counts["messages"] == 2
    assert {table for table in tables() if rows_naming(old, table)} == set()
    assert not RememberedPhone.objects.exists()


@pytest.mark.parametrize(
    "written", ["89161234567", "8 (916) 123-45-67", "+7 916 123 45 67", "7\u2011916\u20111234567"]
)
def test_purpose_loses_the_phone_however_it_is_written(company: Company, written: str) -> None:
    create_all_data(company)
    purpose = f"order 17 of {written}, item 3"
    Verification.objects.update(purpose=purpose)
    Event.objects.filter(data__has_key="purpose").update(data={"purpose": purpose})

    erase(person=Person(PHONE))

    assert Verification.objects.get().purpose == "order 17 of …, item 3"
    assert Event.objects.get(data__has_key="purpose").data["purpose"] == "order 17 of …, item 3"


def test_traces_of_others_stay(company: Company) -> None:
    create_all_data(company)
    create_all_data(company, OTHER)
    create_service_data(OTHER)
    before = {table: rows_naming(OTHER, table) for table in tables()}

    erase(person=Person(PHONE))

    assert {table: rows_naming(OTHER, table) for table in tables()} == before


def test_company_erases_only_its_own_data(company: Company) -> None:
    other = CompanyFactory.create()
    create_all_data(company)
    kept = create_all_data(other)
    create_service_data()

    erase(person=Person(PHONE, company.pk))

    kept.refresh_from_db()
    assert kept.phone == PHONE
    assert not Message.objects.filter(company=company, phone=PHONE).exists()
    assert not Verification.objects.filter(company=company, phone=PHONE).exists()
    assert Contact.objects.filter(phone=PHONE).exists()


@pytest.mark.parametrize("reference", [PHONE, PHONE[1:], f"8{PHONE[2:]}"])
@pytest.mark.parametrize("is_everywhere", [True, False])
def test_reference_of_a_message_to_others_is_erased(
    company: Company, reference: str, *, is_everywhere: bool
) -> None:
    named, longer, foreign = (
        MessageFactory.create(company=owner, phone=OTHER, reference=text)
        for owner, text in [
            (company, reference),
            (company, f"{reference}0"),
            (CompanyFactory.create(), reference),
        ]
    )
    data = {"phone": OTHER, "reference": reference}
    event = EventFactory.create(company=company, key=named.public_id, data=data)
    attempt = DeliveryAttempt.objects.create(
        delivery=DeliveryFactory.create(event=event),
        response=f"got {reference}",
        started_at=timezone.now(),
        duration_ms=1,
    )

    erase(person=Person(PHONE, None if is_everywhere else company.pk))

    for row in (named, longer, foreign, event, attempt):
        row.refresh_from_db()
    assert attempt.response == ""
    assert (named.reference, named.phone) == ("", OTHER)
    assert event.data == {"phone": OTHER, "reference": None}
    assert longer.reference == f"{reference}0"
    assert foreign.reference == ("" if is_everywhere else reference)
    assert Erasure.objects.exists()


def test_key_of_one_mode_erases_that_mode(company: Company) -> None:
    create_all_data(company)
    create_all_data(company, mode="test")

    erase(person=Person(PHONE, company.pk, "test"))

    assert set(Message.objects.filter(phone=PHONE).values_list("mode", flat=True)) == {"live"}


def test_messages_stay_for_the_ledger_without_the_person(company: Company) -> None:
    message = create_all_data(company)

    counts = erase(person=Person(PHONE))

    message.refresh_from_db()
    assert (message.phone, message.state) == ("+7916*", "delivered")
    assert message.params == {"text": "", "short_url": None, "brand": "Shop"}
    assert (counts["messages"], counts["verifications"], counts["links"]) == (2, 1, 1)


def test_checked_code_teaches_nothing_more(company: Company) -> None:
    create_all_data(company)

    erase(person=Person(PHONE))

    verification = Verification.objects.get()
    assert (bytes(verification.mac), verification.superseded_at is None) == (b"", False)


def test_bodies_about_other_phones_lose_the_phone(company: Company) -> None:
    attempt = AttemptFactory.create(message__phone=OTHER, message__state="delivered")
    message = create_all_data(company)
    own = Receipt.objects.get(attempt__message=message)
    shared = ReceiptFactory.create(
        attempt=attempt, provider=own.provider, received_at=own.received_at, raw=bytes(own.raw)
    )

    erase(person=Person(PHONE, company.pk))

    shared.refresh_from_db()
    assert bytes(shared.raw) == b""
    assert shared.provider_id == attempt.provider_id


def test_foreign_message_in_a_shared_body_loses_its_phone(company: Company) -> None:
    body = f'{{"statuses": ["{OTHER[1:]}", "{PHONE[1:]}"]}}'.encode()
    attempt = AttemptFactory.create(message__phone=OTHER, message__state="delivered")
    of_others = ReceiptFactory.create(attempt=attempt, provider=attempt.provider, raw=body)
    stray = {"attempt": None, "provider": attempt.provider, "provider_id": "wamid.X", "ref": None}
    ReceiptFactory.create(**stray, received_at=of_others.received_at, raw=body)
    erase(person=Person(PHONE))

    assert [bytes(receipt.raw) for receipt in Receipt.objects.all()] == [b""]


def test_erasure_is_audited_without_the_phone(company: Company) -> None:
    create_all_data(company)

    erase(person=Person(PHONE))

    events = AuditEvent.objects.filter(action="person.erased").order_by("id")
    assert [(event.company_id, event.subject) for event in events] == [
        (None, "+7916*"),
        (company.pk, "+7916*"),
    ]


def test_list_of_erasures_has_no_phone() -> None:
    erase(person=Person(PHONE))

    listed = Erasure.objects.get()
    assert (listed.company_id, listed.mode, len(bytes(listed.phone_hash))) == (None, "", 32)


def test_stranger_to_the_company_is_not_listed(company: Company) -> None:
    counts = erase(person=Person(PHONE, company.pk))

    assert not any(counts.values())
    assert not Erasure.objects.exists()


def test_second_erasure_finds_nothing(company: Company) -> None:
    create_all_data(company)
    create_service_data()
    erase(person=Person(PHONE))

    assert not any(erase(person=Person(PHONE)).values())
    assert Erasure.objects.count() == 1


@pytest.mark.parametrize("state", ["queued", "sent"])
def test_message_on_its_way_is_finished_first(company: Company, state: str) -> None:
    create_all_data(company)
    deadline = timezone.now() + timedelta(seconds=500)
    MessageFactory.create(company=company, phone=PHONE, state=state, deadline=deadline)

    with pytest.raises(NotFinishedError) as refused:
        erase(person=Person(PHONE))

    assert 490 < refused.value.seconds <= 500
    assert rows_naming(PHONE, "channels_contact") == 0
    assert Message.objects.filter(phone=PHONE).count() == 3


def test_later_receipt_does_not_bring_the_id_of_the_vendor_back(company: Company) -> None:
    """WhatsApp tells when a message is read, and its ids contain the phone."""
    attempt = AttemptFactory.create(
        message=create_all_data(company),
        n=2,
        channel="whatsapp",
        provider="whatsapp_cloud",
        state="expired",
    )
    erase(person=Person(PHONE))

    ReceiptFactory.create(
        provider=attempt.provider,
        provider_id=PHONE,
        ref=attempt.id,
        state="read",
        attempt=None,
        due_at=timezone.now() - timedelta(minutes=1),
    )
    due_receipts.apply_stored()
    who = [Recipient("US.1", str(attempt.id))]
    again = [InboundEvents(b"", receipts=[receipt(str(attempt.id))], recipients=who)]
    inbound_receipts.store("whatsapp_cloud", again)

    attempt.refresh_from_db()
    assert (attempt.state, attempt.provider_id) == ("delivered", None)
    assert not KnownRecipient.objects.exists()


def test_hold_of_a_later_attempt_is_settled_first(company: Company) -> None:
    MessageFactory.create(company=company, phone=PHONE, state="delivered", is_owed=True)

    with pytest.raises(NotFinishedError):
        erase(person=Person(PHONE))


def test_code_that_can_be_entered_is_waited_for(company: Company) -> None:
    verification = VerificationFactory.create(company=company, phone=PHONE)
    MessageFactory.create(
        company=company, phone=PHONE, state="delivered", subject_id=verification.pk
    )

    with pytest.raises(NotFinishedError):
        erase(person=Person(PHONE))


def test_company_cannot_erase_wrong_codes_of_the_day(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})
    for _ in range(4):
        api.post("/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200
    Message.objects.update(state="delivered")

    with pytest.raises(NotFinishedError) as refused:
        erase(person=Person(PHONE, api.company.pk))

    assert refused.value.seconds > 86_000
    assert erase(person=Person(PHONE))["verifications"] == 1


@pytest.mark.django_db(transaction=True)
def test_ledger_is_consistent_afterwards(api: Api) -> None:
    attempt = accepted(api, PHONE)
    api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)})
    settle_verified()
    before = list(reconciliation.breaches())

    erase(person=Person(PHONE))

    assert before == list(reconciliation.breaches()) == []
    assert Message.objects.get(pk=attempt.message_id).phone == "+7916*"


@pytest.mark.django_db(transaction=True)
def test_counters_of_the_phone_are_deleted_with_the_rest(company: Company) -> None:
    send = send_limits.Send(uuid7(), company.pk, "live", "code", PHONE)
    with send_limits.acquire(send):
        pass
    pattern = f"*{hashed(PHONE)}*"
    assert list(redis_client().scan_iter(pattern))

    erase(person=Person(PHONE, company.pk))
    assert list(redis_client().scan_iter(pattern))

    erase(person=Person(PHONE))
    assert not list(redis_client().scan_iter(pattern))
