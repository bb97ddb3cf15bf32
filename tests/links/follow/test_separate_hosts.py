"""Links of companies' hosts and of the shared host open on their own host only."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from links.addresses import short_hosts
from links.follow import resolution
from links.follow.cached_row import NOT_FOUND, LinkTarget
from links.models import Link, ShortHost
from tests.factories import LinkFactory, ShortHostFactory
from tests.links.visiting import Ask, call

pytestmark = [pytest.mark.django_db, pytest.mark.urls("tests.links.visiting")]
OURS = "https://example.com/ours"


@pytest.fixture
def host() -> Iterator[ShortHost]:
    made = ShortHostFactory.create(host="go.acme.example")
    short_hosts.invalidate_cache()
    yield made
    short_hosts.invalidate_cache()


@pytest.fixture
def link(host: ShortHost) -> Link:
    LinkFactory.create(slug="Sale", is_alias=True, url=OURS)
    return LinkFactory.create(
        slug="Sale", is_alias=True, host=host, company=host.company, url="https://acme.example/"
    )


def test_same_slug_has_another_target_under_another_host(ask: Ask, link: Link) -> None:
    statuses = [ask("/Sale", host=host) for host in ("go.acme.example", "testserver")]

    assert link.key.endswith("/sale")
    assert [(status, headers["Location"]) for status, headers, _ in statuses] == [
        (302, "https://acme.example/"),
        (302, OURS),
    ]


def test_link_opens_only_under_its_own_host(ask: Ask, host: ShortHost) -> None:
    own = LinkFactory.create(slug="bcdfGHJK")
    theirs = LinkFactory.create(slug="mnpqRSTV", host=host)

    assert ask(f"/{own.slug}", host="go.acme.example")[0] == 404
    assert ask(f"/{theirs.slug}")[0] == 404
    assert ask(f"/{theirs.slug}", host="go.acme.example")[0] == 302


@pytest.mark.parametrize(
    "named",
    [
        "go.acme.example:8000",
        "GO.Acme.Example",
        "go.acme.example:443",
        "go.acme.example.",
        "go.acme.example.:8000",
    ],
)
def test_host_matches_in_any_spelling(link: Link, named: str) -> None:
    assert call("/Sale", host=named)[1]["Location"] == link.url


@pytest.mark.parametrize("path", ["/", "/pricing", "/api/v1/otp/send", "/admin/", "/a/b", "/x.php"])
def test_every_path_of_a_company_host_is_a_slug(link: Link, path: str) -> None:
    assert call(path, host="go.acme.example")[0] == 404


def test_key_of_a_company_host_is_not_a_path_of_our_host(link: Link, settings: Settings) -> None:
    settings.SHORT_URL = "https://kvt.example"
    call("/Sale", host="go.acme.example")

    for path in (f"/{link.key}", f"/{link.host_id}/Sale", f"/{link.host_id}%2FSale"):
        assert call(path, host="kvt.example")[0] == 404


def test_company_host_needs_no_allowed_hosts_entry(link: Link, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]

    assert call("/Sale", host="go.acme.example")[0] == 302


def test_unknown_host_is_refused(link: Link, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver", ".kvt.example"]

    served = ["testserver", "TestServer:8000", "testserver.", "www.kvt.example"]
    refused = ["go.nobody.example", "go.nobody.example.", "testserver.nobody.example", "", "[::1]"]

    assert [call("/Sale", host=host)[0] for host in served] == [302] * 4
    assert [call("/Sale", host=host)[0] for host in refused] == [299] * 5


def test_unknown_company_host_serves_none_of_our_pages(link: Link, settings: Settings) -> None:
    settings.ALLOWED_HOSTS = ["testserver"]
    unknown: dict[str, short_hosts.Host] = {}
    short_hosts._hosts.value = unknown
    short_hosts._hosts._stale_at = float("inf")

    assert call("/Sale", host="go.acme.example")[0] == 299


@pytest.mark.parametrize("named", ["kvt.example", "KVT.example", "kvt.example.", "kvt.example:443"])
@pytest.mark.parametrize("public", ["https://kvt.example", "https://kvitok.example"])
def test_own_host_need_not_be_among_the_allowed(
    link: Link, settings: Settings, named: str, public: str
) -> None:
    settings.SHORT_URL = "https://kvt.example"
    settings.PUBLIC_URL = public
    settings.ALLOWED_HOSTS = ["kvitok.example"]

    assert call("/Sale", host=named)[1]["Location"] == OURS


def test_pages_on_a_company_host_use_our_stylesheet(link: Link, settings: Settings) -> None:
    _, headers, body = call("/nobody-1", host="go.acme.example")

    assert f'href="{settings.PUBLIC_URL}/static/links.css"' in body.decode()
    assert headers["Content-Security-Policy"].endswith(f"style-src {settings.PUBLIC_URL}")


def test_changed_link_of_a_company_host_is_invalidated(host: ShortHost) -> None:
    link = LinkFactory.create(host=host)
    assert isinstance(resolution.resolve(link.slug, host.pk), LinkTarget)

    Link.objects.filter(pk=link.pk).update(retired_at=link.created_at)
    resolution.invalidate_after_commit(link)

    assert resolution.resolve(link.slug, host.pk) is NOT_FOUND


def test_new_link_of_a_company_host_replaces_a_cached_404(host: ShortHost) -> None:
    assert resolution.resolve("soon-there", host.pk) is NOT_FOUND

    resolution.cache_new(LinkFactory.create(slug="Soon-There", is_alias=True, host=host))

    assert isinstance(resolution.resolve("soon-there", host.pk), LinkTarget)
    assert resolution.resolve("soon-there") is NOT_FOUND
