"""A blocked phone gets no further try of its open messages, nor another channel."""

from datetime import timedelta

import pytest
from django.db.models import F
from django.test import Client
from django.urls import reverse

from billing.models import Wallet
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, FallbackEvent, Message
from channels.outcomes import transitions
from channels.providers.inbound import InboundEvents, Reply
from channels.vendor_webhooks import handle_events
from tests.api.clients import Api
from tests.channels.message_stages import PHONE, accepted, apply_event, claim, send, submitted

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("falls_back")]


def stop() -> None:
    handle_events("twilio", [InboundEvents(b"", replies=[Reply(PHONE, "STOP")])])


def held_tokens() -> int:
    return Wallet.objects.get().held


def test_message_that_no_vendor_has_ends_as_unreachable(api: Api) -> None:
    message = send(api)
    other = send(api, "+79161234568")

    stop()

    message.refresh_from_db()
    assert (message.state, message.error) == ("failed", "recipient_unreachable")
    assert [claimed.message_id for claimed in claim()] == [other.id]
    assert held_tokens() == other.price


@pytest.mark.parametrize("kind", [EventKind.REFUSED, EventKind.UNREACHABLE, EventKind.EXPIRED])
def test_failed_message_does_not_fall_back(api: Api, kind: EventKind) -> None:
    attempt = accepted(api)

    stop()
    apply_event(attempt, kind, code="131026")

    message = Message.objects.get()
    assert message.state in {"failed", "expired"}
    assert (held_tokens(), Attempt.objects.count(), claim()) == (0, 1, [])


def test_call_that_may_be_retried_is_not(api: Api) -> None:
    attempt = submitted(api)

    stop()
    apply_event(attempt, EventKind.RETRY, code="throttled")

    assert Message.objects.get().state == "failed"
    assert (held_tokens(), claim()) == (0, [])


def test_ended_patience_tries_no_other_channel(api: Api) -> None:
    attempt = accepted(api)

    stop()
    Message.objects.update(fallback_at=F("created_at") - timedelta(minutes=5))
    transitions.fall_back([attempt.message_id])
    apply_event(attempt, EventKind.DELIVERED)

    message = Message.objects.get()
    assert (message.state, message.channel, held_tokens()) == ("delivered", "whatsapp", 0)
    assert [event.reason for event in FallbackEvent.objects.all()] == ["blocked"]


def test_stop_that_comes_again_changes_nothing(api: Api) -> None:
    send(api)

    stop()
    stop()

    assert FallbackEvent.objects.count() == 1


def test_operator_blocks_a_phone_with_an_open_message(api: Api, admin_client: Client) -> None:
    send(api)

    admin_client.post(reverse("admin:channels_blockedphone_add"), {"phone": PHONE, "reason": "x"})

    assert Message.objects.get().state == "failed"
    assert held_tokens() == 0
