"""The cabinet's page of one message."""

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone, translation

from accounts.models import Member
from cabinet.templatetags.cabinet import duration_of_ms
from channels.history.timeline import timeline
from channels.models import FallbackEvent, Message
from tests.factories import (
    AttemptFactory,
    DeliveryFactory,
    EndpointFactory,
    EventFactory,
    MemberFactory,
    MessageFactory,
    ReceiptFactory,
    TransferFactory,
    VerificationFactory,
)


def titles(message: Message) -> list[str]:
    with translation.override("en"):
        return [str(step.title) for step in timeline(message)]


def test_timeline_shows_every_step_of_a_delivery(owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, state="delivered")
    TransferFactory.create(company=owner.company, kind="hold", message_id=message.id)
    attempt = AttemptFactory.create(message=message, state="delivered")
    ReceiptFactory.create(attempt=attempt, state="delivered")
    TransferFactory.create(
        company=owner.company, kind="capture", proof="receipt", message_id=message.id
    )
    ReceiptFactory.create(attempt=attempt, state="read", vendor_status="read")

    assert sorted(titles(message)) == [
        "1 token charged",
        "1 token held",
        "Accepted for sending",
        "Delivered to the phone",
        "Handed over to WhatsApp",
        "Read",
        "WhatsApp took the message",
    ]


def test_money_of_a_fallback_follows_its_cause(client: Client, owner: Member) -> None:
    """The commit that falls back moves the hold before it says why."""
    start = timezone.now() - timedelta(hours=1)
    message = MessageFactory.create(company=owner.company, created_at=start)
    moved = {"company": owner.company, "message_id": message.id}
    moved["created_at"] = start + timedelta(milliseconds=62)
    TransferFactory.create(kind="hold", **(moved | {"created_at": start}))
    TransferFactory.create(kind="release", **moved)
    TransferFactory.create(kind="hold", amount=16, hold=2, **moved)
    event_at = start + timedelta(milliseconds=63)
    FallbackEvent.objects.create(message=message, reason="refused", channel="sms", at=event_at)

    assert titles(message) == [
        "Accepted for sending",
        "1 token held",
        "Not delivered: trying SMS",
        "1 token returned",
        "16 tokens held",
    ]
    page = client.get(reverse("message-detail", args=[message.public_id])).content.decode()
    assert "+63\xa0мс" in page
    assert page.count(f"{timezone.localtime(start).year}, ") == 1  # then only the time


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (None, "—"),
        (0, "< 1 мс"),
        (63, "63 мс"),
        (999, "999 мс"),
        (1234, "1,2 с"),
        (90_000, "1,5 мин"),
    ],
)
def test_duration_is_shown_in_a_readable_unit(ms: int | None, text: str) -> None:
    assert duration_of_ms(ms).replace("\xa0", " ") == text


def test_refusal_is_explained(client: Client, owner: Member) -> None:
    message = MessageFactory.create(
        company=owner.company,
        state="failed",
        error="recipient_unreachable",
        finished_at=timezone.now(),
    )
    AttemptFactory.create(
        message=message,
        state="failed",
        accepted_at=None,
        error_class="unreachable",
        error_code="131026",
        error_detail="(#131026) Message undeliverable",
    )

    body = client.get(reverse("message-detail", args=[message.public_id])).content.decode()

    assert "нет учётной записи в мессенджере" in body
    assert "131026" in body
    assert "Получатель недоступен в этом канале" in body
    assert "undeliverable" not in body


def test_failed_receipt_is_shown_once(owner: Member) -> None:
    message = MessageFactory.create(company=owner.company, state="failed")
    attempt = AttemptFactory.create(
        message=message, state="failed", error_class="refused", error_code="30003"
    )
    ReceiptFactory.create(
        attempt=attempt, state="failed", vendor_status="undelivered", error_code="30003"
    )

    assert titles(message).count("Not delivered") == 1
    assert "WhatsApp: refused" not in titles(message)


def test_unreachable_receipt_is_shown_as_a_failure(owner: Member) -> None:
    attempt = AttemptFactory.create(message__company=owner.company, provider="twilio")
    ReceiptFactory.create(
        attempt=attempt, state="unreachable", vendor_status="undelivered", error_code="new"
    )

    with translation.override("en"):
        (step,) = [step for step in timeline(attempt.message) if step.tone]
        text = (str(step.title), str(step.detail))

    assert text == ("Not delivered", "This person cannot be reached by this channel.")
    assert (step.tone, step.code) == ("danger", "new")


@pytest.mark.parametrize(
    ("state", "polls"), [("queued", True), ("delivered", False), ("expired", False)]
)
def test_page_polls_until_the_message_is_final(
    client: Client, owner: Member, state: str, polls: bool
) -> None:
    message = MessageFactory.create(company=owner.company, state=state)

    body = client.get(reverse("message-detail", args=[message.public_id])).content.decode()

    assert ('hx-trigger="every' in body) is polls


@pytest.mark.parametrize(
    ("error", "code", "text"),
    [
        ("recipient_unreachable", "", "попытка в лимиты не засчитана"),
        ("recipient_unreachable", "21610", "отправить START отправителю"),
        ("delivery_failed", "", "напишите оператору сервиса"),
        ("", "", "отправьте новый"),
    ],
)
def test_every_failure_says_what_to_do(
    client: Client, owner: Member, error: str, code: str, text: str
) -> None:
    message = MessageFactory.create(
        company=owner.company,
        state="failed" if error else "expired",
        error=error,
        finished_at=timezone.now(),
    )
    AttemptFactory.create(
        message=message, provider="twilio", error_class="unreachable", error_code=code
    )

    body = client.get(reverse("message-detail", args=[message.public_id])).content.decode()

    assert "Что делать:" in body
    assert text in body


def test_entered_code_is_mentioned_but_never_shown(owner: Member) -> None:
    code = VerificationFactory.create(
        company=owner.company, attempts=3, judged_at=timezone.now(), verified_at=timezone.now()
    )
    message = MessageFactory.create(company=owner.company, subject_id=code.id)

    assert sorted(titles(message)) == [
        "2 wrong codes entered",
        "Accepted for sending",
        "The correct code was entered",
    ]


@pytest.mark.parametrize(("role", "is_shown"), [("developer", True), ("accountant", False)])
def test_webhooks_are_shown_only_to_roles_that_may_see_them(
    client: Client, owner: Member, role: str, is_shown: bool
) -> None:
    message = MessageFactory.create(company=owner.company, state="delivered")
    endpoint = EndpointFactory.create(company=owner.company, url="https://example.com/hook")
    event = EventFactory.create(
        company=owner.company, kind="message.delivered", key=message.public_id
    )
    DeliveryFactory.create(event=event, endpoint=endpoint, state="failed")
    client.force_login(MemberFactory.create(company=owner.company, role=role).user)

    body = client.get(reverse("message-detail", args=[message.public_id])).content.decode()

    assert ("message.delivered → https://example.com/hook" in body) is is_shown
    assert ("Вебхук не принят" in body) is is_shown
