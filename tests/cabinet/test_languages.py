"""Pages are in one language: no English on Russian pages, no Russian on English ones."""

import re
from collections.abc import Iterator
from html.parser import HTMLParser

import pytest
from django.conf import settings as configured
from django.test import Client
from django.urls import clear_url_caches
from pytest_django import Settings

from accounts.models import Company, User
from tests.browser.people import all_pages
from tests.cabinet.pages import create_content

QUOTE = "quote in another language"
SILENT = {"script", "style", "code", "kbd", "pre", "svg", "textarea", QUOTE}
SPOKEN = {"title", "aria-label", "placeholder", "alt", "data-label", "data-copied"}
LATIN = re.compile(r"(?<![\w…])[A-Za-z][\w.@:/+#-]*", re.ASCII)
CYRILLIC = re.compile(r"[А-Яа-яЁё]+")
MACHINES = re.compile(r"[\d_@:/.#]|^[A-Z]{2,4}$")  # addresses, ids, codes, abbreviations
# Names, and what Russian writes in Latin letters as well.
LATIN_NAMES = """
    kvitok whatsapp telegram twilio viber curl english e-mail javascript openapi
    idempotency-key authorization bearer retry-after post get patch delete json https http
    python typescript php go java rust id visa mastercard yookassa stripe csv pdf webhook webhooks
    firefox chromium linux ios cloud gateway bot cookie gone demo verification
    supabase auth logto zitadel authentik ory kratos keycloak authgear casdoor novu fusionauth
    descope clerk max sms
    prelude infobip camara verify one-time-password-sms
    android chrome safari colleague bitly shlink vonage node login payment begin public key
"""
NAMES = frozenset(LATIN_NAMES.split())
RUSSIAN_NAMES = {"русский"}


class Words(HTMLParser):
    """The texts that a person reads or hears, with the element that holds each."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.texts: list[str] = []
        self._path: list[str] = []
        self._language = ""
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.texts += [value for name, value in attrs if name in SPOKEN and value]
        language = dict(attrs).get("lang") or self._language
        self._language = self._language or language
        if language != self._language:
            tag = QUOTE  # it says itself that it is in another language
        if tag not in {"meta", "link", "input", "img", "br", "hr", "use", "path", "rect", "source"}:
            self._path.append(tag)

    def handle_endtag(self, tag: str) -> None:
        while self._path and self._path.pop() not in {tag, QUOTE}:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not SILENT.intersection(self._path):
            self.texts.append(data.strip())


def foreign(text: str, language: str) -> Iterator[str]:
    if language == "ru":
        words = (word.rstrip(".:-/") for word in LATIN.findall(text))
        yield from (w for w in words if not MACHINES.search(w) and w.lower() not in NAMES)
    else:
        yield from (w for w in CYRILLIC.findall(text) if w.lower() not in RUSSIAN_NAMES)


def page(cookie: str, path: str, language: str) -> str:
    client = Client(raise_request_exception=False)
    client.cookies[configured.LANGUAGE_COOKIE_NAME] = language
    if cookie:
        client.cookies[configured.SESSION_COOKIE_NAME] = cookie
    response = client.get(path, follow=True, headers={"Accept-Language": language})
    return response.content.decode()


def spoken(path: str, language: str) -> str:
    """An invoice to a Russian company is a Russian document, whatever language the reader uses."""
    return "ru" if path.startswith("/invoices/") else language


@pytest.mark.parametrize("language", ["ru", "en"])
def test_every_page_is_fully_translated(
    company: Company, settings: Settings, language: str
) -> None:
    settings.ROOT_URLCONF = "tests.browser.urls"
    clear_url_caches()
    create_content(company)
    company.api_keys.update(name="№ 1")
    company.endpoints.update(description="№ 1")
    Company.objects.filter(pk=company.pk).update(name="№ 7")
    seen = list(all_pages(company))
    User.objects.update(language=language)

    result = {
        path: sorted({w for t in Words(html).texts for w in foreign(t, spoken(path, language))})
        for cookie, path in seen
        if (html := page(cookie, path, language))
    }

    assert len(result) > 40
    assert {path: words for path, words in result.items() if words} == {}
