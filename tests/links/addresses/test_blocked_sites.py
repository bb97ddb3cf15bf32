"""The lists of allowed and blocked sites."""

from datetime import timedelta

import pytest
from django.utils import timezone, translation
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from catalogue.errors import DomainError, Error
from links.addresses.target_urls import check_site, check_target
from links.manage import changes
from links.models import BlockedHost, Link, ShortHost
from tests.factories import LinkFactory

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def _known(company: Company) -> None:
    BlockedHost.objects.create(host="fraud.example")
    ShortHost.objects.create(host="go.brand.example", company=company)


ALLOWED = ["shop.example", "bit.ly", "fraud.example", "go.brand.example"]


@pytest.mark.parametrize(
    "url", ["https://shop.example/", "https://www.shop.example/x", "https://bit.ly/x"]
)
def test_listed_site_is_allowed_even_if_a_shortener(url: str) -> None:
    assert check_target(url, allowed=ALLOWED) == url


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        ("https://example.com/", "not among the allowed sites"),
        ("https://notshop.example/", "not among the allowed sites"),
        ("https://shop.example.com/", "not among the allowed sites"),
        ("https://tinyurl.com/x", "not among the allowed sites"),
        ("https://fraud.example/", "blocked"),
        ("https://go.brand.example/", "leads back"),
    ],
)
def test_unlisted_site_is_refused(url: str, reason: str) -> None:
    with pytest.raises(DomainError) as refusal:
        check_target(url, allowed=ALLOWED)

    assert refusal.value.error is Error.URL_NOT_ALLOWED
    with translation.override("en"):
        assert reason in str(refusal.value.message)


@pytest.mark.parametrize(
    ("typed", "site"),
    [
        ("Example.COM.", "example.com"),
        ("*.example.com", "example.com"),
        (" сайт.рф ", "xn--80aswg.xn--p1ai"),
    ],
)
def test_site_is_kept_in_ascii(typed: str, site: str) -> None:
    assert check_site(typed) == site


@pytest.mark.parametrize(
    "typed",
    [
        "",
        "https://example.com",
        "example.com/x",
        "example.com:80",
        "a b",
        "localhost",
        "com",
        "127.0.0.1",
        "аpple.com",
        "*",
    ],
)
def test_malformed_site_is_refused(typed: str) -> None:
    with pytest.raises(DomainError) as refusal:
        check_site(typed)

    assert list(refusal.value.errors or ()) == ["host"]


def test_known_hosts_and_sites_cost_no_query(
    django_assert_num_queries: DjangoAssertNumQueries,
) -> None:
    check_target("https://example.com/")

    with django_assert_num_queries(0):
        check_target("https://example.com/2")


def test_sites_on_the_list_are_matched_whole() -> None:
    for url in ("https://notfraud.example/", "https://fraud.example.com/"):
        assert check_target(url) == url


@pytest.mark.parametrize(
    ("url", "leads_there"),
    [
        ("https://fraud.example", True),
        ("https://fraud.example:8443/", True),
        ("https://fraud.example?x=1", True),
        ("https://deep.fraud.example/", True),
        ("https://notfraud.example/", False),
        ("https://example.com/?to=https://fraud.example/", False),
        ("https://fraudxexample/", False),
    ],
)
def test_links_to_a_blocked_site_are_found(url: str, *, leads_there: bool) -> None:
    LinkFactory.create(url=url)

    assert changes.links_to("fraud.example").exists() is leads_there


def test_links_that_lead_there_once_expired_are_found_too() -> None:
    LinkFactory.create(expired_url="https://fraud.example/late")

    assert changes.links_to("fraud.example").exists()


@pytest.mark.parametrize("target", ["url", "expired_url"])
def test_link_that_its_company_disabled_is_barred_as_well(target: str) -> None:
    off = timezone.now() - timedelta(days=1)
    link = LinkFactory.create(**{target: "https://fraud.example/"}, disabled_at=off)
    LinkFactory.create(**{target: "https://fraud.example/"}, retired_at=off, slug="handed-on")

    assert changes.count_links_to("fraud.example") == 1
    assert changes.disable_links_to("fraud.example", user=None) == 1

    link.refresh_from_db()
    assert (link.is_barred, link.disabled_at) == (True, off)
    assert changes.count_links_to("fraud.example") == 0


def test_links_to_a_blocked_site_are_disabled_and_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(changes, "BATCH_SIZE", 2)
    mine = LinkFactory.create_batch(3, url="https://fraud.example/")
    theirs = LinkFactory.create_batch(2, url="https://a.fraud.example/", company=mine[0].company)
    LinkFactory.create_batch(2, url="https://example.com/")

    assert changes.count_links_to("fraud.example") == 5
    assert changes.disable_links_to("fraud.example", user=None) == 5
    assert changes.disable_links_to("fraud.example", user=None) == 0

    assert Link.objects.filter(disabled_at=None).count() == 2
    subjects = theirs[0].company.audit.values_list("action", "subject")
    assert set(subjects) <= {("links.blocked", f"fraud.example: {n}") for n in (1, 2)}
