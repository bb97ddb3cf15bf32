"""Webhooks of a whole stack reach their receiver, even after a kill or an outage."""

from tests.stack.programs import wait_until
from tests.stack.sender import Sender
from tests.stack.stack import Stack, expire
from tests.webhooks.receivers import Receiver
from webhooks.models import Delivery


def subscribe(sender: Sender, receiver: Receiver, *events: str) -> str:
    """The secret that the receiver's events are signed with."""
    response = sender.post("/webhooks", {"url": receiver.url, "events": list(events)})
    assert response.status_code == 200, response.text
    secret: str = response.json()["secret"]
    return secret


def heard(receiver: Receiver, secret: str) -> dict[str, str]:
    """Event → the id it speaks of, each with a signature that holds."""
    verified = [call.verified(secret) for call in list(receiver.calls)]
    return {event["type"]: event["data"]["id"] for event in verified}


def test_delivery_and_correct_code_are_sent_as_signed_events(
    stack: Stack, sender: Sender, receiver: Receiver
) -> None:
    phone = stack.phone()
    secret = subscribe(sender, receiver, "message.sent", "message.delivered", "otp.verified")

    sent = sender.send_code(phone).json()
    verified = sender.verify(phone, stack.carrier.code(phone)).json()

    receiver.wait(3)
    assert heard(receiver, secret) == {
        "message.sent": sent["id"],
        "message.delivered": sent["id"],
        "otp.verified": verified["id"],
    }


def test_worker_killed_before_record_repeats_call_with_same_id(
    stack: Stack, sender: Sender, receiver: Receiver
) -> None:
    phone = stack.phone()
    secret = subscribe(sender, receiver, "message.delivered")
    stack.start_worker_that_dies_at("webhook")

    sender.send_code(phone)
    receiver.wait(1)
    stack.replace_dead_worker()
    delivery = Delivery.objects.filter(endpoint__company=sender.company)
    expire(delivery, "due_at")

    first, second = receiver.wait(2)
    assert (first.id, first.body) == (second.id, second.body)
    assert second.verified(secret)["data"]["phone"] == phone
    wait_until(lambda: delivery.get().state == "delivered")
    assert delivery.get().tries == 2


def test_broken_receiver_delays_no_send_and_gets_all_webhooks_later(
    stack: Stack, sender: Sender, receiver: Receiver
) -> None:
    phones = stack.phones(5)
    receiver.status = 500
    receiver.delay = 1.0
    subscribe(sender, receiver, "message.delivered")

    statuses = {sender.send_code(phone).json()["status"] for phone in phones}
    delivery = Delivery.objects.filter(endpoint__company=sender.company)
    wait_until(lambda: delivery.filter(attempts__status=500).distinct().count() == len(phones))
    receiver.status = 200
    receiver.delay = 0.0
    expire(delivery, "due_at")

    wait_until(lambda: delivery.filter(state="delivered").count() == len(phones))
    assert statuses <= {"sent", "delivered"}
    accepted = {call.json["data"]["phone"] for call in receiver.calls}
    assert accepted == set(phones)
