"""The cabinet's pages of webhooks."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime

import pytest
import time_machine
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import AuditEvent, Member
from tests.factories import DeliveryFactory, EndpointFactory
from tests.webhooks.receivers import Receiver, listening
from tests.webhooks.rounds import run_round
from webhooks import deliveries, dispatcher, endpoints
from webhooks.models import Delivery, DeliveryAttempt, Endpoint

URL = "https://receiver.example.com/kvitok"
NOON = datetime(2026, 9, 1, 12, tzinfo=UTC)
FORM = {"url": URL, "mode": "live", "kinds": ["message.delivered", "otp.verified"]}


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as receiver:
        yield receiver


@pytest.fixture
def endpoint(owner: Member, receiver: Receiver) -> Endpoint:
    return EndpointFactory.create(company=owner.company, url=receiver.url)


def page(client: Client, name: str, *args: str, **query: str) -> str:
    return client.get(reverse(name, args=args), query).content.decode()


def press(client: Client, name: str, row: Endpoint | Delivery, **fields: str) -> str:
    response = client.post(reverse(name, args=[row.public_id]), fields, follow=True)
    return response.content.decode()


def test_create_shows_the_secret_once(client: Client, owner: Member) -> None:
    response = client.post(reverse("webhook-create"), FORM | {"description": "Боевой сайт"})

    endpoint = Endpoint.objects.get()
    secret = endpoints.secret_of(endpoint)
    assert secret in response.content.decode()
    assert (endpoint.url, endpoint.kinds, endpoint.description) == (
        URL,
        FORM["kinds"],
        "Боевой сайт",
    )
    for name, args in [("webhook-list", []), ("webhook-detail", [endpoint.public_id])]:
        assert URL in page(client, name, *args)
        assert secret not in page(client, name, *args)


def test_event_that_was_refused_waits_for_a_retry(
    client: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    delivery = DeliveryFactory.create(endpoint=endpoint)
    receiver.status = 500
    new = page(client, "webhook-detail", endpoint.public_id)
    run_round()

    listed = page(client, "webhook-detail", endpoint.public_id)
    opened = page(client, "delivery-detail", delivery.public_id)

    assert ("в пути" in new, "ждёт повтора" in new) == (True, False)
    for shown in (listed, opened):
        assert re.search(r"ждёт повтора</span>\s*<span class=.cell-note.>\s*через \d+\xa0с", shown)
        assert "в пути</span>" not in shown


def test_delivery_to_a_messages_own_url_is_labelled(client: Client, endpoint: Endpoint) -> None:
    DeliveryFactory.create(endpoint=endpoint)
    DeliveryFactory.create(endpoint=endpoint, url="https://example.com/one-message")

    assert page(client, "webhook-detail", endpoint.public_id).count("one-message") == 1


@pytest.mark.parametrize(
    ("wrong", "text"),
    [
        ({"url": "http://receiver.example.com/"}, "Адрес должен начинаться с https://"),
        ({"url": "https://192.168.0.1/"}, "Адрес ведёт в частную сеть"),
        ({"url": ""}, "Обязательное поле"),
        ({"kinds": []}, "Обязательное поле"),
        ({"kinds": ["message.read"]}, "message.read"),
        ({"mode": "other"}, "other"),
    ],
    ids=str,
)
@override_settings(WEBHOOKS_TO_LOOPBACK=False)
def test_create_explains_its_refusal(
    client: Client, owner: Member, wrong: dict[str, object], text: str
) -> None:
    response = client.post(reverse("webhook-create"), FORM | wrong)

    assert text in response.content.decode()
    assert not Endpoint.objects.exists()


def test_change_is_saved(client: Client, endpoint: Endpoint) -> None:
    changed = {"url": URL, "kinds": ["message.failed"], "description": "new"}
    address = reverse("webhook-edit", args=[endpoint.public_id])

    before = page(client, "webhook-edit", endpoint.public_id)
    client.post(address, changed)

    endpoint.refresh_from_db()
    assert endpoint.url not in before
    assert (endpoint.url, endpoint.kinds, endpoint.description) == (URL, ["message.failed"], "new")


def test_rotation_asks_and_shows_the_new_secret(client: Client, endpoint: Endpoint) -> None:
    old = endpoints.secret_of(endpoint)
    asked = page(client, "webhook-rotate", endpoint.public_id)

    shown = press(client, "webhook-rotate", endpoint)

    endpoint.refresh_from_db()
    new = endpoints.secret_of(endpoint)
    assert (endpoint.generation, new != old) == (2, True)
    assert new in shown
    assert old not in asked + shown
    assert "Секрет заменяется" in page(client, "webhook-detail", endpoint.public_id)


def test_switched_off_endpoint_gets_nothing_until_it_is_on(
    client: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    on_its_way = DeliveryFactory.create(endpoint=endpoint)

    off = press(client, "webhook-switch", endpoint, to="off")
    example = press(client, "webhook-test", endpoint, kind="otp.verified")
    run_round()
    dispatcher.cancel_undeliverable()
    endpoint.refresh_from_db()
    was_on = endpoint.is_enabled
    press(client, "webhook-switch", endpoint, to="on")

    on_its_way.refresh_from_db()
    endpoint.refresh_from_db()
    assert "Выключен вручную" in off
    assert "Сначала включите адрес" in example
    assert (was_on, endpoint.is_enabled) == (False, True)
    assert (receiver.calls, on_its_way.state) == ([], "failed")


def test_delete_asks_first_and_closes_the_history(client: Client, endpoint: Endpoint) -> None:
    delivery = DeliveryFactory.create(endpoint=endpoint)
    asked = page(client, "webhook-delete", endpoint.public_id)
    endpoint.refresh_from_db()
    was_there = endpoint.deleted_at is None

    press(client, "webhook-delete", endpoint)

    assert endpoint.url in asked
    assert was_there
    for name, row in (("webhook-detail", endpoint), ("delivery-detail", delivery)):
        assert client.get(reverse(name, args=[row.public_id])).status_code == 404


def test_example_is_sent_and_shown(client: Client, endpoint: Endpoint, receiver: Receiver) -> None:
    shown = press(client, "webhook-test", endpoint, kind="otp.verified")
    run_round()

    (call,) = receiver.calls
    assert call.verified(endpoints.secret_of(endpoint))["type"] == "otp.verified"
    assert "Идёт попытка" in shown
    delivery = Delivery.objects.get()
    after = page(client, "delivery-detail", delivery.public_id)
    assert "Ответ 200" in after
    assert call.headers["webhook-signature"] in after
    assert "Идёт попытка" not in after


def test_failed_delivery_is_explained_and_replayed(
    client: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    receiver.status = 500
    receiver.response = b"<script>alert(1)</script> down"
    delivery = DeliveryFactory.create(endpoint=endpoint)
    run_round()
    Delivery.objects.update(state="failed", due_at=None, finished_at=timezone.now(), tries=8)

    failed = page(client, "delivery-detail", delivery.public_id)
    receiver.status = 200
    press(client, "delivery-replay", delivery)
    run_round()

    delivery.refresh_from_db()
    assert "Ответ 500" in failed
    assert "&lt;script&gt;" in failed
    assert "<script>alert" not in failed
    assert (delivery.state, delivery.tries) == ("delivered", 1)
    assert len({call.id for call in receiver.calls}) == 1
    assert AuditEvent.objects.get(action="webhook.replayed").user is not None


@pytest.mark.parametrize("name", ["webhook-test", "webhook-replay", "delivery-replay"])
def test_manual_sends_are_limited_per_company(
    client: Client, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """The limit covers every button and any number of URLs, which may be a stranger's."""
    monkeypatch.setattr(deliveries, "MAX_MANUAL_PER_MINUTE", 2)
    failed = {"state": "failed", "due_at": None, "finished_at": timezone.now()}
    rows = [DeliveryFactory.create(endpoint=endpoint, **failed)]
    rows += DeliveryFactory.create_batch(2, endpoint__company=endpoint.company, **failed)

    with time_machine.travel(NOON, tick=False):
        said = [
            press(
                client,
                name,
                row if name == "delivery-replay" else row.endpoint,
                kind="otp.verified",
            )
            for row in rows
        ]

    assert ["повторов в минуту" in page for page in said] == [False, False, True]
    assert Delivery.objects.filter(state="pending").count() == 2


def test_all_failed_deliveries_are_replayed_at_once(
    client: Client, endpoint: Endpoint, receiver: Receiver
) -> None:
    DeliveryFactory.create_batch(3, endpoint=endpoint, state="failed", due_at=None)
    DeliveryFactory.create(endpoint=endpoint, state="delivered", due_at=None)
    elsewhere = DeliveryFactory.create(state="failed", due_at=None)

    outcome = press(client, "webhook-replay", endpoint)
    run_round()

    elsewhere.refresh_from_db()
    assert "Повторяем 3 доставки." in outcome
    assert len(receiver.calls) == 3
    assert elsewhere.state == "failed"


def test_replays_in_a_day_are_limited(
    client: Client, endpoint: Endpoint, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each replay stores its attempts for a month, and a receiver may refuse them for ever."""
    monkeypatch.setattr(deliveries, "MAX_REPLAYS_PER_DAY", 4)
    DeliveryFactory.create_batch(3, endpoint=endpoint, state="failed", due_at=None)

    said = []
    for _ in range(2):
        said.append(press(client, "webhook-replay", endpoint))
        Delivery.objects.update(state="failed", due_at=None)

    assert ["повторов доставки в сутки" in page for page in said] == [False, True]


def test_replay_of_a_switched_off_endpoint_is_refused_with_a_message(
    client: Client, endpoint: Endpoint
) -> None:
    delivery = DeliveryFactory.create(endpoint=endpoint, state="failed", due_at=None)
    Endpoint.objects.update(disabled_at=timezone.now(), disabled_reason="gone")

    one_replay = press(client, "delivery-replay", delivery)
    every = press(client, "webhook-replay", endpoint)

    delivery.refresh_from_db()
    assert "Сначала включите адрес" in one_replay
    assert "Сначала включите адрес" in every
    assert delivery.state == "failed"


def test_deliveries_are_filtered_and_paged(client: Client, endpoint: Endpoint) -> None:
    DeliveryFactory.create_batch(51, endpoint=endpoint)
    failed = DeliveryFactory.create(endpoint=endpoint, state="failed", due_at=None)
    address = reverse("webhook-detail", args=[endpoint.public_id])

    first = client.get(address).context["page"]
    second = client.get(address, {"cursor": first.next_cursor}).context["page"]
    only = client.get(address, {"state": "failed"}).context["page"]

    assert (len(first.rows), len(second.rows), second.next_cursor) == (50, 2, None)
    assert not {row.pk for row in first.rows} & {row.pk for row in second.rows}
    assert only.rows == [failed]


@pytest.mark.parametrize("rows", [1, 50])
def test_webhook_page_query_count_is_constant(
    client: Client, endpoint: Endpoint, rows: int, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for delivery in DeliveryFactory.create_batch(rows, endpoint=endpoint):
        DeliveryAttempt.objects.create(
            delivery=delivery, started_at=timezone.now(), duration_ms=3, status=500
        )

    with django_assert_num_queries(7):  # session, user, memberships, endpoint, failed?, rows; seen
        client.get(reverse("webhook-detail", args=[endpoint.public_id]))
    with django_assert_num_queries(5):  # session, user, memberships, delivery, attempts
        client.get(reverse("delivery-detail", args=[delivery.public_id]))
