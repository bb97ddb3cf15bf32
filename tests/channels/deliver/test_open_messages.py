"""The queue follows messages and attempts at every change."""

from typing import Any

import pytest

from channels.lifecycle.state_machine import EventKind
from channels.models import Message, OpenMessage
from tests.api.clients import Api
from tests.channels.message_stages import accepted, apply_event, claim, send, submitted
from tests.factories import AttemptFactory, MessageFactory

pytestmark = pytest.mark.django_db(transaction=True)
TIMES = ("priority", "due_at", "useful_until", "deadline", "fallback_at")


def queued() -> list[dict[str, Any]]:
    return [dict(row) for row in OpenMessage.objects.order_by("message_id").values()]


def test_accepted_message_is_queued_with_its_times(api: Api) -> None:
    message = send(api)

    row = OpenMessage.objects.get()

    assert row.message_id == message.pk
    assert [getattr(row, name) for name in TIMES] == [getattr(message, name) for name in TIMES]
    assert row.attempt_id is None


def test_refused_attempt_leaves_its_place_to_the_next(api: Api) -> None:
    first = submitted(api)
    apply_event(first, EventKind.RETRY)
    row = OpenMessage.objects.get()
    (second,) = claim()

    assert row.due_at is not None
    assert row.attempt_id is None
    assert OpenMessage.objects.get().attempt_id == second.attempt_id


@pytest.mark.parametrize("kind", [EventKind.DELIVERED, EventKind.REFUSED, EventKind.GIVEN_UP])
def test_final_message_leaves_the_queue(api: Api, kind: EventKind) -> None:
    attempt = accepted(api)

    apply_event(attempt, kind)

    assert queued() == []
    is_undelivered = Message.objects.values_list("is_undelivered", flat=True).get()
    assert is_undelivered == (kind is not EventKind.DELIVERED)


def test_message_opened_again_is_queued_with_its_attempt() -> None:
    attempt = AttemptFactory.create(message__state="failed", message__due_at=None)

    Message.objects.update(state="sent")

    assert OpenMessage.objects.get().attempt_id == attempt.pk


def test_message_on_its_next_channel_is_queued_for_that_channel() -> None:
    message = MessageFactory.create()
    keys = [OpenMessage.objects.values_list("route_key", flat=True).get()]

    Message.objects.update(channel="sms")

    keys += OpenMessage.objects.values_list("route_key", flat=True)
    assert keys == [f"live {channel} {message.content}" for channel in ("whatsapp", "sms")]
