"""Retention deletes what is past its time, and nothing else."""

from datetime import datetime, timedelta

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings
from structlog.testing import capture_logs

from accounts import purges
from accounts.models import JobFailure
from api.models import IdempotentRequest
from channels import tasks
from channels.history import retention
from channels.models import Message, Receipt, stored_fields
from channels.recipients import contacts
from otp import sql as otp_sql
from otp.models import Verification
from tests.factories import (
    AttemptFactory,
    CompanyFactory,
    MessageFactory,
    ReceiptFactory,
    VerificationFactory,
)
from tests.plans import explained


def time_ago(**ago: float) -> datetime:
    return timezone.now() - timedelta(**ago)


def test_purge_anonymises_old_phones_and_deletes_old_receipts(db: None) -> None:
    old = MessageFactory.create(phone="+79161234567", state="delivered")
    open_one = MessageFactory.create(phone="+79161234567", state="sent")
    new = MessageFactory.create(phone="+79161234567", state="delivered")
    attempts = [
        AttemptFactory.create(
            message=message, state="failed", provider_id=f"wamid.{n}", error_detail=message.phone
        )
        for n, message in enumerate((old, new))
    ]
    Message.objects.exclude(pk=new.pk).update(created_at=time_ago(days=91))
    ReceiptFactory.create(received_at=time_ago(days=31))
    ReceiptFactory.create(received_at=time_ago(days=29))
    verification = VerificationFactory.create(phone="+79161234567")
    Verification.objects.update(created_at=time_ago(days=91))
    for hours in (23, 25):
        IdempotentRequest.objects.create(
            company=old.company,
            mode="live",
            path="/",
            key=str(hours),
            request_hash=b"",
            created_at=time_ago(hours=hours),
        )

    tasks.purge()

    phones = dict(Message.objects.values_list("id", "phone"))
    assert phones[old.id] == "+7916*"
    assert phones[open_one.id] == phones[new.id] == "+79161234567"
    for attempt, left in zip(attempts, ((None, ""), ("wamid.1", new.phone)), strict=True):
        attempt.refresh_from_db()
        assert (attempt.provider_id, attempt.error_detail) == left
    assert Receipt.objects.count() == 1
    verification.refresh_from_db()
    assert verification.phone == "+7916*"
    assert IdempotentRequest.objects.get().key == "23"
    assert purges.purge() == 0


def test_own_texts_that_may_name_the_person_go_with_the_phone(db: None) -> None:
    """No erasure finds the message of an anonymised phone."""
    identifying = {"sender": {"ip": "x"}, "callback": {"url": "x"}, "metadata": {"email": "x"}}
    texts = dict.fromkeys(stored_fields.NAMES, "+79161234567")
    old, new = (
        MessageFactory.create(state="delivered", params={"brand": "Shop"} | identifying, **texts)
        for _age in ("old", "new")
    )
    Message.objects.filter(pk=old.pk).update(created_at=time_ago(days=91))

    tasks.purge()

    for message in (old, new):
        message.refresh_from_db()
    assert old.params == {"brand": "Shop"}
    assert {getattr(old, name) for name in stored_fields.NAMES} == {""}
    assert new.params.keys() == {"brand"} | identifying.keys()
    assert {getattr(new, name) for name in stored_fields.NAMES} == {"+79161234567"}


@pytest.mark.parametrize("written", ["79161234567", "+79161234567", "8 (916) 123-45-67"])
def test_phone_within_purpose_and_binding_goes_with_the_phone(db: None, written: str) -> None:
    texts = {"purpose": f"login {written}", "binding": {"amount": "1", "payee": written}}
    verification = VerificationFactory.create(phone="+79161234567", **texts)
    Verification.objects.update(created_at=time_ago(days=91))

    tasks.purge()

    verification.refresh_from_db()
    assert verification.purpose == "login …"
    assert verification.binding == {"amount": "1", "payee": "…"}


def test_contact_is_deleted_a_year_after_its_number_was_shared(db: None) -> None:
    """A person who presses Start later is asked for the number again."""
    for chat_id, days in ((1, 366), (2, 364)):
        phone = f"+7916123456{chat_id}"
        at = time_ago(days=days)
        contacts.store_contact("telegram_bot", phone=phone, chat_id=chat_id, at=at)
        assert contacts.resume("telegram_bot", chat_id)

    tasks.purge()

    known = [contacts.resume("telegram_bot", chat_id) for chat_id in (1, 2)]
    assert known == [False, True]


def test_each_purge_step_repeats_until_done(db: None, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(purges, "BATCH_SIZE", 2)
    company = CompanyFactory.create()
    for number in range(5):
        MessageFactory.create(company=company, state="failed", created_at=time_ago(days=91))
        VerificationFactory.create(company=company, created_at=time_ago(days=91))
        ReceiptFactory.create(received_at=time_ago(days=31))
        IdempotentRequest.objects.create(
            company=company,
            mode="live",
            path="/",
            key=str(number),
            request_hash=b"",
            created_at=time_ago(hours=25),
        )

    assert purges.purge() == 20

    for model in (Message, Verification):
        old = model.objects.filter(company=company)
        assert set(old.values_list("phone", flat=True)) == {"+7999*"}
    assert not Receipt.objects.exists()
    assert not IdempotentRequest.objects.exists()


def test_failed_purge_step_keeps_others_running(transactional_db: None, settings: Settings) -> None:
    settings.RAW_RETENTION = "thirty"
    MessageFactory.create(state="failed", created_at=time_ago(days=100))
    VerificationFactory.create(created_at=time_ago(days=100))

    with capture_logs() as lines:
        assert purges.purge() == 2

    assert Message.objects.get().phone == Verification.objects.get().phone == "+7999*"
    assert {(line["log_level"], line["event"]) for line in lines} == {("error", "purge_failed")}


@pytest.mark.parametrize(
    ("statement", "index"),
    [
        (retention.ANONYMISE_PHONES, "message_with_phone"),
        (otp_sql.ANONYMISE_PHONES, "verification_with_phone"),
    ],
)
def test_purge_finds_old_phones_by_an_index(db: None, statement: str, index: str) -> None:
    with connection.cursor() as cursor:
        for other in ("seqscan", "bitmapscan", "sort", "incremental_sort"):
            cursor.execute(f"SET LOCAL enable_{other} = off")
        plan = explained(statement, [90, 1000])

    assert f"using {index}" in plan
    assert "Sort  (" not in plan  # months are merged by their keys


def test_phones_that_cannot_be_removed_yet_leave_room_for_others(
    db: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(purges, "BATCH_SIZE", 1)
    now = timezone.now()
    kept, other = (
        MessageFactory.create(state="failed", created_at=now - timedelta(days=days))
        for days in (300, 200)
    )
    JobFailure.objects.create(
        job="purges", subject=str(kept.pk), failed_at=now, due_at=now + timedelta(hours=1)
    )

    purges.purge()

    kept.refresh_from_db()
    other.refresh_from_db()
    assert (kept.phone.endswith("*"), other.phone.endswith("*")) == (False, True)
