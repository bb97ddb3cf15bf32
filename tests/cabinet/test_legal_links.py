"""Links to the legal texts, on pages and in e-mails."""

from collections.abc import Iterator
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured
from django.template.loader import render_to_string
from django.test import Client
from django.urls import reverse
from pytest_django import Settings

from accounts.models import Mail
from accounts.outbox import mail
from config.environment.variables import web_address
from links.follow import responses
from tests.factories import LinkFactory, MemberFactory

pytestmark = pytest.mark.django_db
ADDRESSES = {
    "TERMS_URL": "https://law.example/terms",
    "PRIVACY_URL": "https://law.example/privacy",
    "SUPPORT_EMAIL": "help@law.example",
}
LINKS = ["https://law.example/terms", "https://law.example/privacy", "mailto:help@law.example"]


@pytest.fixture(autouse=True)
def _fresh_pages() -> Iterator[None]:
    """Clears cached pages of dead links, as settings change only in tests."""
    responses._error_page_html.cache_clear()
    yield
    responses._error_page_html.cache_clear()


@pytest.fixture
def legal(settings: Settings) -> None:
    for name, value in ADDRESSES.items():
        setattr(settings, name, value)


def pages(client: Client) -> dict[str, str]:
    """A page of each layout."""
    link = LinkFactory.create()
    dead = LinkFactory.create(is_barred=True, disabled_at=link.created_at)
    member = MemberFactory.create()
    results: dict[str, Any] = {
        "home": client.get("/"),
        "sign-up": client.get(reverse("account_signup")),
        "documentation": client.get("/docs/quickstart", follow=True),
        "not found": client.get("/cabinet/nothing-there"),
        "dead link": client.get(f"/{dead.slug}"),
        "about a link": client.get(f"/{link.slug}+"),
    }
    client.force_login(member.user)
    results["cabinet"] = client.get(reverse("overview"))
    result = {name: response.content.decode() for name, response in results.items()}
    return result | {"crash": render_to_string("500.html"), "away": render_to_string("503.html")}


@pytest.mark.usefixtures("legal")
def test_every_kind_of_page_shows_legal_links(client: Client) -> None:
    result = {
        name: [url for url in LINKS if f'href="{url}"' in page]
        for name, page in pages(client).items()
    }

    assert result == dict.fromkeys(result, LINKS)


@pytest.mark.usefixtures("legal")
def test_emails_show_legal_links_in_text_and_html() -> None:
    member = MemberFactory.create()

    mail.post_to_members(
        company=member.company,
        roles=[member.role],
        template="company_suspended",
        context={"reason": "x"},
    )

    email = Mail.objects.get()
    assert [url for url in LINKS if f'href="{url}"' in email.html] == LINKS
    assert "Условия использования: https://law.example/terms" in email.text
    assert "Поддержка: help@law.example" in email.text


@pytest.mark.parametrize("value", ["javascript:alert(1)", "law.example/terms", "ftp://x"])
def test_non_web_address_is_refused(monkeypatch: pytest.MonkeyPatch, value: str) -> None:
    monkeypatch.setenv("TERMS_URL", value)

    with pytest.raises(ImproperlyConfigured, match="TERMS_URL"):
        web_address("TERMS_URL")
