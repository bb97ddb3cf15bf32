"""A redirect in front of the application is the one that the application would make."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone
from pytest_django import Settings

from links.follow import resolution
from links.follow.redirect import RedirectMiddleware
from links.manage import changes, stopping
from links.models import Link
from processes.server.https import respond_securely
from processes.server.rsgi_response import Response
from tests.factories import LinkFactory, ShortHostFactory
from tests.links.visiting import call, counted, environ_of, in_seconds, passed_on

pytestmark = pytest.mark.django_db(transaction=True)


def respond(text: str, **request: Any) -> Response | None:
    return RedirectMiddleware(passed_on).respond_early(environ_of(text, **request))


def known(**fields: Any) -> Link:
    """A link that somebody has just followed."""
    link: Link = LinkFactory.create(**fields)
    resolution.resolve(link.slug, link.host_id)
    return link


def test_known_link_is_followed_as_by_the_application() -> None:
    link = known(url="https://example.com/a")

    status, headers, body = respond(f"/{link.slug}", query="utm_source=x") or (0, [], b"")

    assert (status, dict(headers), body) == call(f"/{link.slug}")
    assert dict(headers)["Location"] == "https://example.com/a"
    assert counted() == [(link.id.hex, "person")] * 2


def test_first_visit_is_left_to_the_application() -> None:
    link = LinkFactory.create()

    assert respond(f"/{link.slug}") is None
    assert call(f"/{link.slug}")[0] == 302
    assert respond(f"/{link.slug}") is not None


@pytest.mark.parametrize("method", ["HEAD", "POST", "OPTIONS", "get"])
def test_other_methods_are_left_to_the_application(method: str) -> None:
    assert respond(f"/{known().slug}", method=method) is None


@pytest.mark.parametrize("path", ["/{}+", "/+{}", "/{}%2B", "/{}/", "/", "/livez", "/zzzzzzzz"])
def test_other_paths_are_left_to_the_application(path: str) -> None:
    assert respond(path.format(known().slug)) is None


@pytest.mark.parametrize(
    "fields",
    [
        {"is_once": True},
        {"disabled_at": timezone.now()},
        {"expires_at": timezone.now() - timedelta(seconds=1)},
        {"disabled_at": timezone.now(), "expired_url": "https://example.com/later"},
    ],
)
def test_links_that_are_not_live_are_left_to_the_application(fields: dict[str, Any]) -> None:
    assert respond(f"/{known(**fields).slug}") is None
    assert counted() == []


def test_changes_reach_cached_links() -> None:
    disabled = known()
    stopped = known()
    expiring = known(expires_at=in_seconds(0.5))
    assert all(respond(f"/{link.slug}") for link in (disabled, stopped, expiring))

    changes.change(link=disabled, new_values=changes.Change(is_enabled=False))
    stopping.stop(company=stopped.company, batch_id=None)

    assert respond(f"/{disabled.slug}") is None
    assert respond(f"/{stopped.slug}") is None
    while timezone.now() < (expiring.expires_at or timezone.now()):
        pass
    assert respond(f"/{expiring.slug}") is None


def test_hosts_of_companies_have_links_of_their_own() -> None:
    host = ShortHostFactory.create()
    link = known(host=host, company=host.company)

    assert respond(f"/{link.slug}", host=host.host)
    assert respond(f"/{link.slug}") is None
    assert respond(f"/{link.slug}", host="elsewhere.example") is None
    assert respond(f"/{known().slug}", host=host.host) is None


def test_production_redirects_early_only_over_https(settings: Settings) -> None:
    settings.PRODUCTION = True
    path = f"/{known().slug}"
    early = respond_securely(RedirectMiddleware(passed_on).respond_early)

    assert early(environ_of(path)) is None
    _, headers, _ = early(environ_of(path) | {"wsgi.url_scheme": "https"}) or (0, [], b"")

    names = [name for name, _ in headers]
    assert {"X-Content-Type-Options", "Strict-Transport-Security", "Location"} <= set(names)
    assert len(names) == len(set(names))
