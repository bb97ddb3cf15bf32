"""Links that the operator has disabled, or that lead to blocked sites, stay closed."""

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from catalogue.ids import uuid7
from links.addresses import target_urls
from links.manage import changes, stopping
from links.manage.changes import Change
from links.models import BlockedHost, Link, Stop
from tests.api.clients import Api, ApiResponse
from tests.factories import LinkFactory, MemberFactory
from tests.operator_admin.operators import make_operator, sign_in

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def link(company: Company) -> Link:
    return LinkFactory.create(company=company, batch_id=uuid7())


@pytest.fixture
def operator(client: Client) -> Client:
    sign_in(client, make_operator(), "password", "mfa")
    return client


def act(operator: Client, action: str, link: Link) -> None:
    page = reverse("admin:links_link_changelist")
    assert operator.post(page, {"action": action, "_selected_action": [link.pk]}).status_code == 302


def enable(api: Api, link: Link) -> ApiResponse:
    return api.call("PATCH", f"/links/{link.public_id}", b'{"enabled": true}')


def is_on(link: Link) -> bool:
    return Link.objects.get(pk=link.pk).disabled_at is None


@pytest.mark.parametrize("was_off", [False, True])
def test_company_cannot_enable_a_link_the_operator_disabled(
    api: Api, operator: Client, link: Link, was_off: bool
) -> None:
    if was_off:
        api.call("DELETE", f"/links/{link.public_id}")
    act(operator, "disable", link)

    response = enable(api, link)

    assert (response.status, response.code) == (403, "forbidden")
    assert "оператор" in response.body["message"]
    assert not is_on(link)
    assert api.call("DELETE", f"/links/{link.public_id}").status == 200


def test_operator_can_enable_a_barred_link(api: Api, operator: Client, link: Link) -> None:
    act(operator, "disable", link)

    act(operator, "enable", link)

    assert is_on(link)
    api.call("DELETE", f"/links/{link.public_id}")
    assert enable(api, link).body["state"] == "active"


def test_link_to_a_blocked_site_cannot_be_enabled(api: Api, operator: Client, link: Link) -> None:
    BlockedHost.objects.create(host="example.com")
    target_urls.invalidate_blocked_sites()
    assert changes.disable_links_to("example.com", user=None) == 1

    act(operator, "enable", link)

    assert not is_on(link)
    assert Link.objects.get(pk=link.pk).is_barred


def test_link_with_a_blocked_expired_url_cannot_be_enabled(api: Api, company: Company) -> None:
    link = LinkFactory.create(company=company, expired_url="https://fraud.example/")
    api.call("DELETE", f"/links/{link.public_id}")
    BlockedHost.objects.create(host="fraud.example")
    target_urls.invalidate_blocked_sites()

    response = enable(api, link)
    mended = api.call("PATCH", f"/links/{link.public_id}", b'{"enabled": true, "expired_url": ""}')

    assert (response.status, response.code) == (422, "url_not_allowed")
    assert mended.body["state"] == "active"


def test_cabinet_shows_a_barred_link_without_a_button(
    client: Client, company: Company, link: Link
) -> None:
    changes.change(link=link, new_values=Change(is_enabled=False, by_operator=True))
    client.force_login(MemberFactory.create(company=company, role=Member.Role.OWNER).user)

    page = client.get(reverse("link-detail", args=[link.public_id])).content.decode()
    response = client.post(reverse("link-enable", args=[link.public_id]), follow=True)

    assert reverse("link-enable", args=[link.public_id]) not in page
    assert "Эту ссылку выключил оператор сервиса" in response.content.decode()
    assert not is_on(link)


@pytest.mark.parametrize("was_stopped", [False, True])
def test_company_cannot_release_a_batch_the_operator_stopped(
    api: Api, company: Company, link: Link, was_stopped: bool
) -> None:
    if was_stopped:
        api.call("DELETE", f"/batches/{link.batch}")
    stopping.stop(company=company, batch_id=link.batch_id, by_operator=True)

    response = api.post(f"/batches/{link.batch}/release", {})

    assert (response.status, response.code) == (403, "forbidden")
    assert Stop.objects.get().is_operators


def test_cabinet_releases_the_owners_stop(client: Client, company: Company, link: Link) -> None:
    client.force_login(MemberFactory.create(company=company, role=Member.Role.OWNER).user)
    client.post(reverse("link-stop-all"))
    client.post(reverse("link-batch-stop", args=[link.batch]))
    stopping.stop(company=company, by_operator=True)

    client.post(reverse("link-batch-release", args=[link.batch]))
    response = client.post(reverse("link-release-all"), follow=True)

    assert [stop.batch_id for stop in Stop.objects.all()] == [None]
    assert "остановил оператор сервиса" in response.content.decode()
    assert stopping.release(company=company, by_operator=True)


def test_alias_of_a_barred_link_stays_taken(api: Api, company: Company) -> None:
    link = LinkFactory.create(company=company, slug="Sale", is_alias=True)
    changes.change(link=link, new_values=Change(is_enabled=False, by_operator=True))
    asked = {"url": "https://example.com/", "alias": "sale"}

    single = api.post("/links/shorten", asked)
    count = api.post("/links/bulk", {"links": [asked]})

    assert single.code == "alias_taken"
    assert count.body["data"][0]["code"] == "alias_taken"


@pytest.mark.parametrize("by_operator", [True, False])
def test_alias_of_an_operators_stopped_batch_stays_taken(
    api: Api, company: Company, by_operator: bool
) -> None:
    link = LinkFactory.create(company=company, slug="Sale", is_alias=True, batch_id=uuid7())
    stopping.stop(company=company, batch_id=link.batch_id, by_operator=by_operator)
    api.call("DELETE", f"/links/{link.public_id}")
    asked = {"url": "https://example.com/", "alias": "sale"}

    count = api.post("/links/bulk", {"links": [asked]}).body["data"][0]
    single = api.post("/links/shorten", asked)

    assert count["success"] is not by_operator
    assert single.code == "alias_taken"


def test_link_of_a_stopped_batch_cannot_be_enabled_alone(
    api: Api, company: Company, link: Link
) -> None:
    stopping.stop(company=company, batch_id=link.batch_id)

    response = enable(api, link)

    assert (response.status, response.code) == (403, "forbidden")
    assert "пакетом" in response.body["message"]
    stopping.release(company=company, batch_id=link.batch_id)
    assert enable(api, link).status == 200


def test_used_one_time_link_cannot_be_enabled(api: Api, company: Company) -> None:
    used = LinkFactory.create(company=company, is_once=True, used_at=timezone.now())

    response = enable(api, used)

    assert (response.status, response.code) == (403, "forbidden")
    assert "одноразовая" in response.body["message"]


def test_aliases_older_than_reserved_words_are_listed(
    api: Api, operator: Client, company: Company
) -> None:
    for slug in ("s1gn-in", "Kvitok-Sale", "summer"):
        LinkFactory.create(company=company, slug=slug, is_alias=True)
    LinkFactory.create(company=company, slug="billing")  # drawn, as it were

    page = operator.get(reverse("admin:links_link_changelist"), {"name": "reserved"})

    listed = {link.slug for link in page.context["cl"].result_list}
    assert listed == {"s1gn-in", "Kvitok-Sale"}
    assert api.post("/links/shorten", {"url": "https://example.com", "alias": "s1gn-in"}).code == (
        "invalid_input"
    )
    (bulk,) = api.post(
        "/links/bulk", {"links": [{"url": "https://example.com", "alias": "Sign-In"}]}
    ).body["data"]
    assert (bulk["success"], bulk["code"]) == (False, "invalid_input")
