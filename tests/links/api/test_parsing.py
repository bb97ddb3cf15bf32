"""Request fields of links, and the limits of a company that waits for approval."""

from dataclasses import replace
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from accounts.keys import api_keys
from accounts.keys.principal import LinkRules, Principal
from accounts.models import Company
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from links.addresses import target_urls
from links.api.parsing import link_change, link_for_code, new_link
from links.models import BlockedHost, Link
from tests.api.books import books
from tests.api.clients import Api
from tests.factories import ApiKeyFactory, CompanyFactory

pytestmark = pytest.mark.django_db

PHONE = "+79161234567"
URL = "https://example.com/"
HOUR = 3600
CALLS: dict[str, dict[str, Any]] = {
    "/links/shorten": {"url": URL},
    "/links/send": {"phone": PHONE, "url": URL},
    "/otp/send": {"phone": PHONE, "link": URL},
}


def principal(status: str = "approved", lifetime: int | None = None) -> Principal:
    company = CompanyFactory.create(status=status, default_link_lifetime=lifetime)
    result = api_keys.find(ApiKeyFactory.create(company=company).plaintext)
    assert result is not None
    return result


LIFETIMES = [
    # status, the company's default, asked, given
    ("approved", None, None, None),
    ("approved", 86_400, None, 86_400),
    ("approved", 86_400, 60, 60),
    ("approved", None, 2_592_000, 2_592_000),
    ("pending", None, None, HOUR),
    ("pending", 86_400, None, HOUR),
    ("pending", 600, None, 600),
    ("pending", None, 2_592_000, HOUR),
    ("pending", None, HOUR, HOUR),
    ("pending", None, 60, 60),
]


@pytest.mark.parametrize(("status", "default", "asked", "given"), LIFETIMES)
def test_links_and_links_of_codes_get_the_same_lifetime(
    status: str, default: int | None, asked: int | None, given: int | None
) -> None:
    who = principal(status, default)

    link = new_link(RequestFields({"url": URL, "expires_in": asked}), who)
    of_code = link_for_code(RequestFields({"link": URL, "link_expires_in": asked}), who)

    assert [new.lifetime for new in (link, of_code) if new] == [given] * 2


def test_alias_of_a_company_waiting_for_approval_is_refused() -> None:
    fields = {"url": URL, "alias": "sale-2026"}
    approved = new_link(RequestFields(fields), principal())

    with pytest.raises(DomainError) as caught:
        new_link(RequestFields(fields), principal("pending"))

    assert approved is not None
    assert approved.alias == "sale-2026"
    assert caught.value.error is Error.FORBIDDEN


def test_unapproved_company_may_set_no_expired_url() -> None:
    waiting = principal("pending")
    set_up = replace(waiting, link_rules=LinkRules(expired_url=f"{URL}late"))

    link = new_link(RequestFields({"url": URL}), set_up)
    of_code = link_for_code(RequestFields({"link": URL}), set_up)
    with pytest.raises(DomainError) as caught:
        new_link(RequestFields({"url": URL, "expired_url": f"{URL}late"}), waiting)
    with pytest.raises(DomainError):
        link_change(RequestFields({"expired_url": f"{URL}late"}), waiting)

    assert link is not None
    assert of_code is not None
    assert (link.expired_url, of_code.expired_url) == ("", "")
    assert caught.value.error is Error.FORBIDDEN


def test_blocked_default_expired_url_is_left_out() -> None:
    set_up = replace(principal(), link_rules=LinkRules(expired_url="https://fraud.example/x"))
    before = new_link(RequestFields({"url": URL}), set_up)
    BlockedHost.objects.create(host="fraud.example")
    target_urls.invalidate_blocked_sites()

    link = new_link(RequestFields({"url": URL}), set_up)
    of_code = link_for_code(RequestFields({"link": URL}), set_up)
    with pytest.raises(DomainError) as caught:
        new_link(RequestFields({"url": URL, "expired_url": "https://fraud.example/x"}), set_up)

    expired_urls = [new.expired_url for new in (before, link, of_code) if new]
    assert expired_urls == ["https://fraud.example/x", "", ""]
    assert caught.value.error is Error.URL_NOT_ALLOWED


def test_invalid_field_is_reported_before_the_alias_is_refused() -> None:
    fields = RequestFields({"url": 1, "alias": "sale-2026"})

    assert new_link(fields, principal("pending")) is None
    assert list(fields.errors) == ["url"]


@pytest.mark.parametrize("path", CALLS)
def test_links_made_before_the_approval_end_within_the_hour(test_api: Api, path: str) -> None:
    Company.objects.update(status=Company.Status.PENDING)

    response = test_api.post(path, CALLS[path])

    expires_at = Link.objects.get().expires_at
    assert response.status == 200
    assert expires_at is not None
    assert HOUR - 60 < (expires_at - timezone.now()).total_seconds() <= HOUR


@pytest.mark.parametrize("change", [b'{"expires_in": 86400}', b'{"never_expires": true}'])
def test_pending_company_cannot_lengthen_a_lifetime(test_api: Api, change: bytes) -> None:
    Company.objects.update(status=Company.Status.PENDING)
    made = test_api.post("/links/shorten", {"url": URL, "expires_in": 60}).body["id"]
    Link.objects.update(created_at=timezone.now() - timedelta(seconds=HOUR - 90))

    young = test_api.call("PATCH", f"/links/{made}", change)
    link = Link.objects.get()
    Link.objects.update(created_at=link.created_at - timedelta(days=30))
    old = test_api.call("PATCH", f"/links/{made}", change)

    assert (young.status, young.body["state"]) == (200, "active")
    assert link.expires_at == link.created_at + timedelta(seconds=HOUR)
    assert (old.status, old.body["state"]) == (200, "expired")


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("ru", "Свои имена ссылок заработают, когда компанию одобрят"),
        ("en", "Aliases work once the company is approved"),
    ],
)
@pytest.mark.parametrize("path", ["/links/shorten", "/links/send"])
def test_refusal_of_an_alias_says_when_it_will_work(
    test_api: Api, path: str, language: str, text: str
) -> None:
    Company.objects.update(status=Company.Status.PENDING)
    before = books()

    response = test_api.post(path, CALLS[path] | {"alias": "sale-2026"}, Accept_Language=language)

    assert (response.status, response.code, response.body["message"]) == (403, "forbidden", text)
    assert books() == before
