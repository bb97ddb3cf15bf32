"""Receivers of some companies that respond slowly do not delay the quick ones of others."""

import pytest
from django.conf import settings
from django.test import override_settings

from tests.factories import DeliveryFactory, EndpointFactory
from tests.webhooks.receivers import Receiver, listening
from webhooks import deliveries, dispatcher, events
from webhooks.dispatcher import WebhookDispatcher


@pytest.mark.django_db
def test_slow_companies_share_half_of_the_threads() -> None:
    slow = [DeliveryFactory.create() for _ in range(20)]
    companies = [delivery.endpoint.company_id for delivery in slow]
    quick = DeliveryFactory.create()  # due after all of them

    busy = dispatcher.claim(32, slow=companies)

    assert quick.pk in {delivery.delivery_id for delivery in busy}
    assert len(busy) == settings.WEBHOOK_THREADS // 2 + 1
    assert dispatcher.claim(32, busy, companies) == []


@pytest.mark.django_db
def test_slow_companies_take_turns() -> None:
    floods = [EndpointFactory.create() for _ in range(3)]
    for flood in floods:
        DeliveryFactory.create_batch(2, endpoint=flood)
    first, second, third = (flood.company_id for flood in floods)

    claimed = dispatcher.claim(2, slow=[third, first, second])

    assert {delivery.company_id for delivery in claimed} == {third, first}


@pytest.mark.django_db(transaction=True)
@override_settings(WEBHOOK_THREADS=4)
def test_many_slow_companies_do_not_delay_others(
    monkeypatch: pytest.MonkeyPatch, running_dispatcher: WebhookDispatcher, receiver: Receiver
) -> None:
    monkeypatch.setattr(dispatcher, "SLOW_AFTER", 0.5)
    with listening() as tarpit:
        tarpit.delay = 1.0  # it fails nothing
        for endpoint in [EndpointFactory.create(url=tarpit.url) for _ in range(8)]:
            DeliveryFactory.create_batch(4, endpoint=endpoint)
        events.new_deliveries.set()
        tarpit.wait(13)  # each company was called once
        deliveries.send_example(
            endpoint=EndpointFactory.create(url=receiver.url), kind="otp.verified"
        )

        receiver.wait(seconds=2.5)

        assert len(tarpit.calls) < 24
