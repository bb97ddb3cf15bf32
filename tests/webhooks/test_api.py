"""The API's webhook endpoints."""

from datetime import timedelta
from functools import partial
from typing import Any

import orjson
import pytest
import time_machine
from django.test import override_settings
from django.utils import timezone

from accounts.models import AuditEvent, Mode
from api.models import IdempotentRequest
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.factories import EndpointFactory
from tests.webhooks.rounds import run_round
from webhooks import endpoints
from webhooks.models import Delivery, Endpoint, EventKind

URL = "https://receiver.example.com/kvitok"
ENVELOPE = {"success", "message"}


def create(api: Api, **fields: Any) -> ApiResponse:
    return api.post("/webhooks", {"url": URL, "events": ["message.delivered"]} | fields)


def patch(api: Api, path: str, payload: Any) -> ApiResponse:

    return api.call("PATCH", path, orjson.dumps(payload))


def delete(api: Api, path: str) -> ApiResponse:
    return api.call("DELETE", path)


def path_of(endpoint: Endpoint, tail: str = "") -> str:
    return f"/webhooks/{endpoint.public_id}{tail}"


def test_create_returns_the_endpoint_and_its_secret(api: Api) -> None:
    response = create(api, description="Боевой сайт")

    endpoint = Endpoint.objects.get()
    assert response.status == 200
    assert response.body == {
        "success": True,
        "message": "Адрес добавлен. Сохраните secret: он показан один раз",
        "id": endpoint.public_id,
        "url": URL,
        "events": ["message.delivered"],
        "description": "Боевой сайт",
        "enabled": True,
        "disabled_reason": None,
        "test": False,
        "created_at": response.body["created_at"],
        "last_success_at": None,
        "failing_since": None,
        "old_secret_until": None,
        "secret": endpoints.secret_of(endpoint),
    }
    assert (endpoint.company, endpoint.mode) == (api.company, "live")


def test_secret_is_returned_once(api: Api) -> None:
    made = create(api).body

    listed = api.get("/webhooks").body
    endpoint = api.get(f"/webhooks/{made['id']}").body

    assert listed["data"] == [{k: v for k, v in endpoint.items() if k not in ENVELOPE}]
    assert made["secret"] not in str(listed) + str(endpoint)
    assert (listed["has_more"], listed["next_cursor"]) == (False, None)


def test_all_events_unless_some_are_named(api: Api) -> None:
    assert create(api, events=None).body["events"] == list(EventKind.values)
    some = ["otp.verified", "message.sent", "otp.verified"]
    assert create(api, url=f"{URL}/2", events=some).body["events"] == [
        "message.sent",
        "otp.verified",
    ]


@pytest.mark.parametrize(
    ("field", "value", "text"),
    [
        ("url", None, "Обязательное поле"),
        ("url", 5, "Должна быть строка"),
        ("url", "ftp://receiver.example.com/", "Адрес должен начинаться с https://"),
        ("url", "https://user@receiver.example.com/", "Это не адрес, который можно вызвать"),
        ("url", "https://10.0.0.1/", "Адрес ведёт в частную сеть"),
        ("url", "https://0x7f.1/", "Адрес ведёт в частную сеть"),
        ("url", "https://receiver.example.com:22/", "Порт должен быть 443 или 8443"),
        ("events", [], "Список событий"),
        ("events", "message.sent", "Список событий"),
        ("events", ["message.read"], "Список событий"),
        ("events", [1], "Список событий"),
        ("description", "a" * 121, "Не длиннее 120"),
    ],
)
@override_settings(WEBHOOKS_TO_LOOPBACK=False)
def test_invalid_field_is_named(api: Api, field: str, value: Any, text: str) -> None:
    response = create(api, **{field: value})

    assert (response.status, response.code) == (422, "invalid_input")
    assert list(response.body["errors"]) == [field]
    assert response.body["errors"][field][0].startswith(text)
    assert not Endpoint.objects.exists()


def test_endpoint_limit_excludes_deleted_endpoints(api: Api) -> None:
    EndpointFactory.create_batch(10, company=api.company)
    EndpointFactory.create_batch(3, company=api.company, mode=Mode.TEST)

    refused = create(api)
    delete(api, path_of(Endpoint.objects.filter(mode="live")[0]))

    assert (refused.status, refused.body["message"]) == (
        422,
        "У компании может быть до 10 адресов: удалите один из них",
    )
    assert create(api).status == 200


@pytest.mark.django_db(transaction=True)
def test_parallel_creates_cannot_exceed_the_endpoint_limit(api: Api) -> None:
    EndpointFactory.create_batch(9, company=api.company)

    responses = at_once([partial(create, api, url=f"{URL}/{n}") for n in range(4)])

    assert sorted(response.status for response in responses) == [200, 422, 422, 422]


def test_url_is_registered_once_for_each_mode(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)
    EndpointFactory.create(company=api.company, mode=Mode.TEST, url=URL)

    first = create(api)
    again = create(api)
    changed = patch(api, path_of(endpoint), {"url": URL, "description": "new"})
    delete(api, f"/webhooks/{first.body['id']}")

    assert first.status == 200
    for refused in (again, changed):
        assert (refused.status, refused.body["errors"]) == (
            422,
            {"url": ["Этот адрес уже добавлен: измените его или удалите"]},
        )
    assert create(api).status == 200


@pytest.mark.django_db(transaction=True)
def test_parallel_creates_of_one_url_create_one_endpoint(api: Api) -> None:
    responses = at_once([lambda: create(api)] * 4)

    assert sorted(response.status for response in responses) == [200, 422, 422, 422]


def test_repeated_create_is_idempotent_and_stores_no_secret(api: Api) -> None:
    first = api.post("/webhooks", {"url": URL}, Idempotency_Key="a")
    again = api.post("/webhooks", {"url": URL}, Idempotency_Key="a")
    other = api.post("/webhooks", {"url": URL + "2"}, Idempotency_Key="a")

    assert first.body == again.body
    assert again.headers["Idempotent-Replayed"] == "true"
    assert other.code == "idempotency_mismatch"
    assert Endpoint.objects.count() == 1
    assert "whsec_" not in str(IdempotentRequest.objects.get().body)


def test_patch_changes_only_named_fields(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company, description="old")

    response = patch(api, path_of(endpoint), {"url": URL + "/2", "unknown": 1, "events": None})

    endpoint.refresh_from_db()
    assert (response.status, response.body["url"]) == (200, URL + "/2")
    assert (endpoint.url, endpoint.description) == (URL + "/2", "old")
    assert endpoint.kinds == list(EventKind.values)
    assert "secret" not in response.body


@pytest.mark.parametrize(
    ("field", "value"),
    [("url", "http://10.0.0.1/"), ("events", []), ("enabled", "yes"), ("url", 1)],
)
def test_invalid_patch_changes_nothing(api: Api, field: str, value: Any) -> None:
    endpoint = EndpointFactory.create(company=api.company)

    response = patch(api, path_of(endpoint), {"description": "new", field: value})

    endpoint.refresh_from_db()
    assert (response.status, list(response.body["errors"])) == (422, [field])
    assert endpoint.description == ""


def test_endpoint_is_switched_off_and_on(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)

    off = patch(api, path_of(endpoint), {"enabled": False}).body
    refused = api.post(path_of(endpoint, "/test"))
    on = patch(api, path_of(endpoint), {"enabled": True}).body

    assert (off["enabled"], off["disabled_reason"]) == (False, "person")
    assert (refused.status, refused.code) == (422, "invalid_input")
    assert (on["enabled"], on["disabled_reason"]) == (True, None)


def test_deleted_endpoint_is_gone(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)

    response = delete(api, path_of(endpoint))

    assert (response.status, response.body["id"]) == (200, endpoint.public_id)
    assert api.get("/webhooks").body["data"] == []
    assert api.get(path_of(endpoint)).status == 404
    assert delete(api, path_of(endpoint)).status == 404


@pytest.mark.parametrize(
    ("keys", "rotations"),
    [
        ([None, None], 1),  # a double click
        (["a", "b"], 2),
        (["a", "a"], 1),
        ([None, "b"], 2),
    ],
)
def test_rotation_happens_once_unless_requested_twice(
    api: Api, keys: list[str | None], rotations: int
) -> None:
    made = create(api).body
    path = f"/webhooks/{made['id']}/rotate"

    responses = [api.post(path, {}, **({"Idempotency_Key": key} if key else {})) for key in keys]

    assert [response.status for response in responses] == [200, 200]
    assert len({response.body["secret"] for response in responses}) == rotations
    assert Endpoint.objects.get().generation == 1 + rotations


def test_later_rotation_makes_another_key(api: Api) -> None:
    made = create(api).body
    path = f"/webhooks/{made['id']}/rotate"
    first = api.post(path, {}).body["secret"]
    row = Endpoint.objects.get()
    assert row.previous_until is not None
    Endpoint.objects.update(previous_until=row.previous_until - endpoints.REPEAT_WINDOW)

    assert api.post(path, {}).body["secret"] != first


@pytest.mark.parametrize("kind", EventKind.values)
def test_example_of_each_event_arrives(
    api: Api, endpoint: Endpoint, receiver: Any, *, kind: str
) -> None:
    Endpoint.objects.update(kinds=["message.sent"], company=api.company)

    response = api.post(path_of(endpoint, "/test"), {"type": kind})
    run_round()

    (call,) = receiver.calls
    event = call.verified(endpoints.secret_of(endpoint))
    assert (response.status, response.body["event_id"]) == (200, call.id)
    assert (event["type"], event["data"]["example"]) == (kind, True)


def test_example_defaults_to_a_subscribed_event(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company, kinds=["otp.verified"])

    response = api.post(path_of(endpoint, "/test"))

    assert response.body["event"] == "otp.verified"
    assert Delivery.objects.get().public_id == response.body["id"]
    assert api.post(path_of(endpoint, "/test"), {"event": "no"}).code == "invalid_input"


def test_examples_are_limited_per_minute(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)
    now = timezone.now().replace(second=0)
    with time_machine.travel(now, tick=False):
        allowed = [api.post(path_of(endpoint, "/test")).status for _ in range(20)]
        refused = api.post(path_of(endpoint, "/test"), {}, Idempotency_Key="a")

    assert set(allowed) == {200}
    assert (refused.status, refused.code, refused.headers["Retry-After"]) == (
        429,
        "rate_limited",
        "60",
    )
    with time_machine.travel(now + timedelta(minutes=1)):
        assert api.post(path_of(endpoint, "/test"), {}, Idempotency_Key="a").status == 200


def test_each_change_is_in_the_audit_log(api: Api) -> None:
    made = create(api).body
    path = f"/webhooks/{made['id']}"
    patch(api, path, {"description": "new"})
    patch(api, path, {"enabled": False})
    patch(api, path, {"enabled": True})
    api.post(f"{path}/rotate")
    delete(api, path)

    actions = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert list(actions) == [
        "webhook.created",
        "webhook.changed",
        "webhook.disabled",
        "webhook.enabled",
        "webhook.rotated",
        "webhook.deleted",
    ]
