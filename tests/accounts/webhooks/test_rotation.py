"""Every secret signs for as long as it was promised, and two clicks are one rotation."""

from datetime import datetime, timedelta

import pytest
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from accounts.models import Delivery, Endpoint
from accounts.webhooks import endpoints, signing
from config.errors import DomainError, Error
from tests.accounts.webhooks.receivers import Receiver
from tests.accounts.webhooks.rounds import make_round
from tests.factories import DeliveryFactory


@pytest.fixture
def delivery(endpoint: Endpoint) -> Delivery:
    return DeliveryFactory.create(endpoint=endpoint, event__data={"id": "msg_1", "имя": "Ромашка"})


def test_rotated_secret_signs_beside_the_old_one_for_a_day(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    old = endpoints.secret_of(endpoint)
    new = endpoints.rotate(endpoint=endpoint, user=None)
    make_round()
    Endpoint.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    DeliveryFactory.create(endpoint=endpoint)
    make_round()

    during, after = receiver.calls
    assert during.verified(old) == during.verified(new)
    assert len(during.headers["webhook-signature"].split()) == 2
    assert after.verified(new)
    assert len(after.headers["webhook-signature"].split()) == 1


def test_every_promised_secret_signs_for_its_whole_day(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    first = endpoints.secret_of(endpoint)
    second = endpoints.rotate(endpoint=endpoint, user=None)
    age_rotations(hours=12)
    third = endpoints.rotate(endpoint=endpoint, user=None)
    make_round()
    age_rotations(hours=13)
    DeliveryFactory.create(endpoint=endpoint)
    make_round()

    during, after = receiver.calls
    assert during.verified(first) == during.verified(second) == during.verified(third)
    assert after.verified(second) == after.verified(third)
    with pytest.raises(WebhookVerificationError):
        after.verified(first)
    assert signing.secrets_by_key() == {endpoint.key_id: 2}


def age_rotations(*, hours: int) -> None:
    ago = timedelta(hours=hours)
    for row in Endpoint.objects.exclude(previous_until=None):
        assert row.previous_until is not None
        row.previous_until -= ago
        for one in row.older_secrets:
            one["until"] = (datetime.fromisoformat(one["until"]) - ago).isoformat()
        row.save()


def test_secret_cannot_be_replaced_without_end(endpoint: Endpoint) -> None:
    for _ in range(endpoints.MAX_OLD_SECRETS):
        endpoints.rotate(endpoint=endpoint, user=None)

    with pytest.raises(DomainError) as refusal:
        endpoints.rotate(endpoint=endpoint, user=None)

    assert refusal.value.error is Error.INVALID_INPUT
    assert endpoint.generation == 1 + endpoints.MAX_OLD_SECRETS


def test_missing_key_of_the_old_secret_leaves_the_new_one_to_sign(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    new = endpoints.rotate(endpoint=endpoint, user=None)
    Endpoint.objects.update(previous_key_id="taken-away")

    make_round()

    (call,) = receiver.calls
    assert call.verified(new)
    assert len(call.headers["webhook-signature"].split()) == 1
