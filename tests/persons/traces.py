"""Everything that the service keeps after it sent a code and a link to a person."""

import secrets
from datetime import timedelta
from typing import Any

from django.contrib.admin.models import LogEntry
from django.contrib.contenttypes.models import ContentType
from django.utils import timezone

from accounts.models import Company
from api.models import IdempotentRequest
from channels.models import Attempt, Contact, KnownRecipient, Message, Part, ProviderAlert, Receipt
from channels.routing.learned import phone_memories
from channels.routing.smart.reach import PhoneMemory
from links.clicks import partitions
from links.models import Link, Report
from otp.models import Verification
from tests.factories import (
    AttemptFactory,
    DeliveryFactory,
    EndpointFactory,
    EventFactory,
    LinkFactory,
    MessageFactory,
    ReceiptFactory,
    UserFactory,
    VerificationFactory,
)
from tests.sql import execute
from webhooks.models import DeliveryAttempt

PHONE = "+79161234567"
OTHER = "+79997654321"
DAYS_AGO = timedelta(days=2)


def create_all_data(company: Company, phone: str = PHONE, mode: str = "live") -> Message:
    """A delivered link, a code that was entered, and their traces; returns the link's message."""
    code = _code(company, phone, mode)
    message = _link(company, phone, mode)
    attempt = _attempt(message)
    named = {"phone": phone, "reference": message.reference, "metadata": {"who": phone}}
    of_message = named | {"short_url": "https://k/x"}
    _webhook(company, mode, f"msg_{message.id.hex}", of_message)
    of_code = named | {"purpose": code.purpose}
    _webhook(company, mode, f"otp_{code.id.hex}", of_code, kind="otp.verified")
    IdempotentRequest.objects.create(
        company=company,
        mode=mode,
        path="/otp/verify",
        key=secrets.token_hex(8),
        request_hash=b"x",
        status=200,
        body=f'{{"phone": "{phone}"}}',
    )
    KnownRecipient.objects.create(
        vendor="whatsapp", user_id=f"u-{message.id.hex}", attempt_id=attempt.id
    )
    return message


def create_service_data(phone: str = PHONE) -> None:
    """Creates the personal data that belongs to no company."""
    digits = phone.removeprefix("+")
    memory = PhoneMemory()
    memory.record_proof("telegram", timezone.now().timestamp())
    phone_memories.save_many({phone: memory}, timezone.now().timestamp())
    Contact.objects.create(provider="telegram_bot", phone=phone, chat_id=int(digits))
    ProviderAlert.objects.create(provider="twilio", code="x", detail=f"{phone} is odd")
    Receipt.objects.create(
        provider="smpp",
        digest=phone.encode(),
        state="delivered",
        vendor_status="DELIVRD",
        phone=phone,
        raw=digits.encode(),
        due_at=None,
    )
    LogEntry.objects.create(
        user=UserFactory.create(),
        content_type=ContentType.objects.get_for_model(Contact),
        object_id="1",
        object_repr=phone,
        action_flag=3,
        change_message="",
    )


def _code(company: Company, phone: str, mode: str) -> Verification:
    past = timezone.now() - DAYS_AGO
    verification = VerificationFactory.create(
        company=company,
        phone=phone,
        mode=mode,
        attempts=1,
        created_at=past,
        expires_at=past,
        judged_at=past,
        verified_at=past,
        settled_at=past,
        purpose=f"p-{company.pk} {phone}",
        binding={"amount": "1.00", "payee": phone},
    )
    MessageFactory.create(
        company=company,
        phone=phone,
        mode=mode,
        subject_id=verification.id,
        state="delivered",
        due_at=None,
        finished_at=past,
        price=0,
    )
    return verification


def _link(company: Company, phone: str, mode: str) -> Message:
    link = LinkFactory.create(
        company=company,
        mode=mode,
        url=f"https://shop.example/?p={phone}",
        utm=f"u={phone}",
        expired_url=f"https://shop.example/?e={phone}",
    )
    message = MessageFactory.create(
        company=company,
        phone=phone,
        mode=mode,
        kind="link",
        content="link",
        subject_id=link.id,
        params={
            "text": f"Dear {phone}",
            "short_url": "https://k/x",
            "brand": "Shop",
            "metadata": {"who": phone},
            "callback": {"url": f"https://shop.example/{phone}", "endpoint": "0" * 32},
        },
        reference=f"for {phone}",
        state="delivered",
        due_at=None,
        finished_at=timezone.now(),
        price=0,
    )
    Link.objects.filter(pk=link.pk).update(message_id=message.pk)
    Report.objects.create(link=link, reason="other", words=f"I am {phone}")
    partitions.ensure_upcoming()
    execute(
        "INSERT INTO links_click (link_id, at, kind, referrer, device, country)"
        " VALUES (%s, now(), 'person', %s, 'ios', 'RU')",
        [link.pk, f"{phone}.example"],
    )
    return message


def _attempt(message: Message) -> Attempt:
    digits = message.phone.removeprefix("+")
    attempt = AttemptFactory.create(
        message=message,
        state="delivered",
        provider_id=f"wamid.{digits}-{message.id.hex}",
        error_detail=f"not {message.phone}",
    )
    ReceiptFactory.create(
        attempt=attempt,
        phone=message.phone,
        raw=f'{{"to": "{digits}"}}'.encode(),
        alternatives=[digits],
        error_detail=message.phone,
        due_at=None,
    )
    Part.objects.create(
        attempt=attempt, number=1, total=1, provider="smpp", provider_id=f"{digits}{message.id.hex}"
    )
    return attempt


def _webhook(
    company: Company, mode: str, key: str, data: dict[str, Any], kind: str = "message.delivered"
) -> None:
    endpoint = EndpointFactory.create(company=company, mode=mode)
    event = EventFactory.create(company=company, mode=mode, kind=kind, key=key, data=data)
    delivery = DeliveryFactory.create(
        endpoint=endpoint, event=event, url=f"https://receiver.example.com/{data['phone']}"
    )
    DeliveryAttempt.objects.create(
        delivery=delivery, started_at=timezone.now(), duration_ms=1, response=f"saw {data['phone']}"
    )


def rows_naming(phone: str, table: str) -> int:
    """Rows of a table with the phone's digits in any column; bytea is in hexadecimal as text."""
    digits = phone.removeprefix("+")
    rows = execute(
        f"SELECT count(*) FROM {table} stored WHERE stored::text LIKE %s OR stored::text LIKE %s",  # noqa: S608
        [f"%{digits}%", f"%{digits.encode().hex()}%"],
    )
    return int(rows[0][0])
