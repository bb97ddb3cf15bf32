"""Fallback with real processes: what its cancellation by a click takes."""

from datetime import timedelta

import pytest
import requests
from django.db.models import F

from channels.models import Attempt, Message
from links.clicks import delivery_proof
from links.clicks.bot_detection import SCANNER_WINDOW
from links.clicks.buffer import STREAM
from links.models import Link
from storage.redis_client import blocking_redis_client
from tests.links.visiting import BROWSER_HEADERS
from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Outcome, Stack


def falling_back(stack: Stack) -> Sender:
    return stack.sender(falls_back=True, fallback_chain=["whatsapp", "sms"])


def visitors_of(phone: str) -> tuple[int, int, int]:
    """(people, previews, scanners) of the link that was sent there."""
    link = Link.objects.get(message_id=Message.objects.get(phone=phone).pk)
    return link.clicks, link.previews, link.scanners


def proving_is_done() -> bool:
    """Whether the reader that proves by clicks has read all of them."""
    stream = blocking_redis_client().xinfo_stream(STREAM)
    groups = blocking_redis_client().xinfo_groups(STREAM)
    read = {group["name"].decode(): group for group in groups}.get(delivery_proof.CONSUMER.group)
    if read is None or read["pending"]:
        return False
    return bool(read["last-delivered-id"] == stream["last-generated-id"])


def had_time_to_read(phone: str) -> None:
    """Makes the message one that was handed over a while ago."""
    sent = Attempt.objects.filter(message__phone=phone, accepted_at__isnull=False)
    wait_until(sent.exists)
    earlier = timedelta(seconds=2 * SCANNER_WINDOW)
    sent.update(started_at=F("started_at") - earlier, accepted_at=F("accepted_at") - earlier)


def follow_later(short_url: str, phone: str) -> None:
    had_time_to_read(phone)
    requests.get(short_url, headers=BROWSER_HEADERS, allow_redirects=False, timeout=10)


@pytest.mark.parametrize(
    ("fault", "expected"), [("link_preview", (0, 1, 0)), ("link_scan", (0, 0, 1))]
)
def test_only_click_of_person_proves_delivery(
    stack: Stack, fault: str, expected: tuple[int, int, int]
) -> None:
    sender = falling_back(stack)
    phone = stack.phone()
    stack.carrier.set_fault("no_receipt", channel="whatsapp", phone=phone)
    stack.carrier.set_fault(fault, channel="whatsapp", phone=phone)
    short_url = sender.send_link(phone, "https://example.com/").json()["short_url"]
    wait_until(lambda: visitors_of(phone) == expected)
    wait_until(proving_is_done)
    unproved = Message.objects.get(phone=phone)

    follow_later(short_url, phone)

    assert (unproved.state, unproved.fallback_at is None) == ("sent", False)
    assert stack.ending(phone) == Outcome(["delivered"], charged=1, copies=1)
    assert stack.proofs(phone) == ["click"]
    wait_until(lambda: visitors_of(phone) == (1, *expected[1:]))
