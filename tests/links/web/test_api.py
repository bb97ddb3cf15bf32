"""POST /links/shorten and /links/send: the link, its cost, and the message on the phone."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from django.utils.dateparse import parse_datetime
from pytest_django import DjangoAssertNumQueries

from billing.wallet import ledger
from channels.models import Message
from links.models import Link
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.factories import CompanyFactory, LinkFactory

PHONE = "+79161234567"
URL = "https://example.com/"


def shorten(api: Api, **fields: object) -> ApiResponse:
    return api.post("/links/shorten", {"url": URL} | fields)


def send(api: Api, **fields: object) -> ApiResponse:
    return api.post("/links/send", {"phone": PHONE, "url": URL} | fields)


def test_answer_of_a_shorten(api: Api) -> None:
    response = shorten(api)

    link = Link.objects.get()
    assert response.body == {
        "success": True,
        "message": "Ссылка сокращена",
        "id": link.public_id,
        "short_url": f"http://127.0.0.1:8000/{link.slug}",
        "slug": link.slug,
        "url": URL,
        "expires_at": None,
        "expires_in": None,
        "reused": False,
    }
    assert (len(link.slug), link.company_id, link.mode) == (8, api.company.pk, "live")


def test_response_states_the_lifetime_of_a_link(api: Api) -> None:
    response = shorten(api, expires_in=3600)

    expires_at = parse_datetime(response.body["expires_at"])
    assert expires_at is not None
    assert response.body["expires_at"].endswith("Z")
    assert abs(expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert (response.body["expires_in"], expires_at) == (3600, Link.objects.get().expires_at)


def test_alias_is_kept_as_typed_and_taken_in_any_case(api: Api) -> None:
    response = shorten(api, alias="Summer_Sale-26")

    assert response.body["slug"] == "Summer_Sale-26"
    assert response.body["short_url"].endswith("/Summer_Sale-26")
    for alias in ("Summer_Sale-26", "summer_sale-26", "SUMMER_SALE-26"):
        assert shorten(api, alias=alias).code == "alias_taken"


def test_alias_equal_to_generated_slug_is_taken(api: Api) -> None:
    slug = LinkFactory.create(slug="k3D9CKMX", key="k3D9CKMX").slug
    count = [{"url": "https://example.com/", "alias": alias} for alias in (slug, "k3D9CKMx-2")]

    assert shorten(api, alias=slug).code == "alias_taken"
    assert send(api, alias=slug).code == "alias_taken"
    made = api.post("/links/bulk", {"links": count}).body["data"]
    assert [row["success"] for row in made] == [False, True]
    assert made[0]["code"] == "alias_taken"
    assert Link.objects.filter(is_alias=True).count() == 1


@pytest.mark.parametrize(
    "alias",
    [
        "ab",
        "распродажа",
        "1234",
        "api",
    ],
)
def test_invalid_alias_is_refused(api: Api, alias: str) -> None:
    for call in (shorten, send):
        response = call(api, alias=alias)
        assert (response.status, list(response.body["errors"])) == (422, ["alias"])
    assert not Link.objects.exists()


@pytest.mark.parametrize(
    ("fields", "is_free_for_owner", "is_free_for_others"),
    [
        ({}, False, False),
        ({"expires_at": timedelta(hours=1)}, False, False),
        ({"expires_at": -timedelta(days=1)}, True, False),
        ({"disabled_at": -timedelta(days=89)}, True, False),
        ({"disabled_at": -timedelta(days=91)}, True, True),
        ({"expires_at": -timedelta(days=91)}, True, True),
        ({"expires_at": -timedelta(days=91), "disabled_at": -timedelta(days=1)}, True, False),
        ({"used_at": -timedelta(days=1)}, True, False),
        ({"used_at": -timedelta(days=91)}, True, True),
    ],
)
@pytest.mark.parametrize("call", [shorten, send])
def test_alias_of_an_expired_link_is_reusable(
    api: Api,
    client_of: ClientOf,
    *,
    call: Any,
    fields: dict[str, timedelta],
    is_free_for_owner: bool,
    is_free_for_others: bool,
) -> None:
    times = {name: timezone.now() + shift for name, shift in fields.items()}
    stranger = client_of(CompanyFactory.create())
    ledger.grant(company=stranger.company, amount=5, reason="test")

    for client, is_free in ((stranger, is_free_for_others), (api, is_free_for_owner)):
        Link.objects.all().delete()
        LinkFactory.create(company=api.company, slug="Sale", key="sale", is_alias=True, **times)
        response = call(client, alias="sale")
        assert (response.status == 200) is is_free
        assert Link.objects.filter(retired_at=None, key="sale").count() == 1


@pytest.mark.parametrize("path", ["/links/shorten", "/links/send", "/links/bulk"])
@pytest.mark.parametrize(("days", "is_free"), [(1, False), (91, True)])
def test_test_key_waits_for_alias_of_expired_live_link(
    test_api: Api, *, path: str, days: int, is_free: bool
) -> None:
    died = timezone.now() - timedelta(days=days)
    link = LinkFactory.create(company=test_api.company, slug="sale", is_alias=True, expires_at=died)
    asked = {"phone": PHONE, "url": URL, "alias": "sale"}

    test_api.post(path, asked | {"links": [asked]})

    assert Link.objects.filter(mode="test").exists() is is_free
    link.refresh_from_db()
    assert (link.retired_at is not None) is is_free


def test_shorten_costs_nothing(client_of: ClientOf) -> None:
    api = client_of(CompanyFactory.create())

    assert shorten(api).status == 200
    assert shorten(api, alias="free").status == 200
    assert ledger.balance(api.company.pk) == (0, 0)


@pytest.mark.django_db(transaction=True)  # no block around it, which would bring a savepoint
def test_shorten_uses_one_statement(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    shorten(api)  # the key, the hosts and the blocked sites are known

    with django_assert_num_queries(1):
        assert shorten(api, expires_in=60).status == 200


def test_send_responds_with_all_fields(api: Api) -> None:
    response = send(api)

    message = Message.objects.get()
    link = Link.objects.get()
    assert response.body == {
        "success": True,
        "message": "Ссылка поставлена в очередь: WhatsApp",
        "id": message.public_id,
        "phone": "+79161234567",
        "short_url": link.short_url,
        "channel": "whatsapp",
        "locale": "ru",
        "status": "queued",
        "cost": 1,
        "test": False,
    }
    assert (message.kind, message.content, message.subject_id) == ("link", "link", link.id)
    assert len(link.slug) == 10
    assert ledger.balance(api.company.pk) == (999, 1)


def test_sms_response_has_segments(api: Api) -> None:
    response = send(api, channel="sms", text="д" * 100)

    assert response.body["message"] == "Ссылка поставлена в очередь: SMS"
    assert (response.body["cost"], response.body["segments"]) == (16, 2)
    assert Message.objects.get().segments == 2


@pytest.mark.parametrize(
    "written",
    [
        "Cafe\u0301 " * 20,  # as macOS names files
        "Café\u00a0" * 20,
        "Café \r\n" * 20,
    ],
)
def test_spelling_of_a_text_takes_no_further_sms(written: str, api: Api) -> None:
    response = send(api, channel="sms", text=written)

    assert response.body["segments"] == 1
    assert "Café" in Message.objects.get().params["text"]


def test_message_of_more_than_three_sms_is_refused(api: Api) -> None:
    response = send(api, channel="sms", text="д" * 190)

    assert (response.status, list(response.body["errors"])) == (422, ["text"])
    assert response.body["errors"]["text"] == ["Сообщение занимает 4 SMS, можно не больше 3"]
    assert not Message.objects.exists()
    assert not Link.objects.exists()
    assert send(api, channel="whatsapp", text="д" * 190).status == 200


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        (None, "Ссылка для вас: {url}"),
        ("Ваш чек", "Ваш чек {url}"),
        ("Чек: :link, спасибо", "Чек: {url}, спасибо"),
        (":link и :link", "{url} и {url}"),
        ("(:link)", "({url})"),
        (":links", ":links {url}"),
        ("::link", "::link {url}"),
        (":LINK", ":LINK {url}"),
        ("50% \\g<0> :link", "50% \\g<0> {url}"),
    ],
)
def test_link_is_placed_in_the_text(api: Api, text: str | None, shown: str) -> None:
    response = send(api, text=text)

    assert Message.objects.get().params["text"] == shown.format(url=response.body["short_url"])


def test_message_is_in_the_requested_language(api: Api) -> None:
    response = send(api, locale="en")

    message = Message.objects.get()
    assert message.locale == "en"
    assert message.params["text"] == f"A link for you: {response.body['short_url']}"
    assert response.body["message"] == "Ссылка поставлена в очередь: WhatsApp"


def test_alias_conflict_releases_limit_and_hold(api: Api) -> None:
    LinkFactory.create(slug="sale", key="sale", is_alias=True)

    for _ in range(3):
        assert send(api, alias="sale").code == "alias_taken"

    assert [send(api).status for _ in range(5)] == [200] * 5
    assert ledger.balance(api.company.pk) == (995, 5)


@pytest.mark.parametrize(("state", "is_free"), [("failed", True), ("expired", False)])
def test_alias_is_sent_again_after_its_message_failed(
    api: Api, client_of: ClientOf, *, state: str, is_free: bool
) -> None:
    stranger = client_of(CompanyFactory.create())
    send(api, alias="sale")
    Message.objects.update(state=state)

    assert shorten(stranger, alias="sale").code == "alias_taken"
    assert (send(api, alias="sale", channel="sms").status == 200) is is_free
    retired = Link.objects.exclude(retired_at=None)
    assert [link.disabled_at is not None for link in retired] == [True] * is_free


def test_test_links_are_separate(test_api: Api) -> None:
    shorten(test_api)
    send(test_api)

    assert set(Link.objects.values_list("mode", flat=True)) == {"test"}


def test_link_in_a_message_lives_as_long_as_it_may(api: Api) -> None:
    send(api)

    message = Message.objects.get()
    assert message.useful_until == message.deadline
    assert abs(message.deadline - timezone.now() - timedelta(days=1)) < timedelta(minutes=1)


def test_link_send_uses_one_statement(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    send(api)  # the key, the hosts, the blocked sites and the stops are known

    with django_assert_num_queries(1):
        assert send(api).status == 200
