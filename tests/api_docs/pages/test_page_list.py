"""Documentation pages are complete, in one language each, and have no dead links."""

import re
from collections import Counter
from collections.abc import Iterator
from urllib.parse import urldefrag, urljoin

import pytest
from django.conf import settings as configured
from django.contrib.staticfiles import finders
from django.test import Client
from django.urls import reverse
from pytest_django import DjangoAssertNumQueries

from accounts import key_issuing
from accounts.keys import api_keys
from accounts.models import ApiKey, Member, Mode
from api_docs.pages.contexts import HINT
from api_docs.pages.page_list import PAGES
from catalogue.errors import Error
from tests.api_docs.reading import LANGUAGES, URLS, read
from tests.cabinet.missing_variables import show_missing_variables
from tests.factories import ApiKeyFactory

INLINE = re.compile(r"<style|\sstyle=|<script(?![^>]*\ssrc=)|\son[a-z]+=|javascript:")
CYRILLIC = re.compile(r"[А-Яа-яЁё]+")
LATIN = re.compile(r"[A-Za-z]{2,}")
# Names, which every language writes alike, and what stands for a status: 2xx.
NAMES = """
    CAMARA Vonage Verify OAuth Node js RS Basic
    Kvitok WhatsApp Telegram MAX SMS API OpenAPI Postman HTTP HTTPS JSON GET POST PUT PATCH DELETE
    IP GDPR CSV PDF XML UUID ASCII ISO UTC JavaScript TypeScript Python PHP Java Go Rust curl xx
    Authorize Unix HMAC SHA base Standard Webhooks
    Supabase Auth Logto Zitadel authentik Ory Kratos Keycloak Authgear Casdoor Novu FusionAuth
    Descope Clerk Jsonnet Action better auth
    Android Chrome Gateway Markdown llms txt ALTCHA Base IPv
    Twilio Verify Node js Ruby BCP Prelude Infobip CAMARA Vonage oai vercel labs
    emulate schemathesis behave YAML twilio Basic Bearer FA PIN PSD UTF Unicode CLDR
"""
# Fields, their names and kinds, where they are the subject, such as the term of a definition.
TECHNICAL = re.compile(r"openapi\.json|purpose|Idempotency-Key|queued|application/json|challenge")


@pytest.fixture(autouse=True, scope="module")
def _missing_variables() -> Iterator[None]:
    """A variable that no view provides shows itself instead of being empty."""
    with show_missing_variables():
        yield


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("url", [*URLS, "/docs/", "/docs/quickstart"])
def test_page_is_open_to_everyone(client: Client, url: str, language: str) -> None:
    client.cookies[configured.LANGUAGE_COOKIE_NAME] = language

    response = client.get(url)

    body = response.content.decode()
    assert response.status_code == 200
    assert f'<html lang="{language}"' in body
    assert "missing:" not in body
    assert 'id="None"' not in body
    assert INLINE.findall(body) == []
    assert body.count("<h1>") == 1


def test_visitor_costs_no_query(
    client: Client, db: None, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for url in URLS:
        client.get(url)

    with django_assert_num_queries(0):
        for url in URLS:
            client.get(url)


def test_unknown_page_is_not_found(client: Client) -> None:
    assert client.get("/docs/nothing").status_code == 404


@pytest.mark.parametrize("language", LANGUAGES)
def test_anchors_are_unique(language: str) -> None:
    counted = Counter((url, anchor) for url in URLS for anchor in read(url, language).anchors)

    assert [anchor for anchor, count in counted.items() if count > 1] == []


class Statuses(dict[str, int]):
    """The answer of each address, which is requested once."""

    def __init__(self, client: Client) -> None:
        super().__init__()
        self._client = client

    def __missing__(self, url: str) -> int:
        self[url] = self._client.get(url).status_code
        return self[url]


@pytest.mark.parametrize("language", LANGUAGES)
def test_no_link_leads_nowhere(client: Client, db: None, language: str) -> None:
    pages = {url: read(url, language) for url in URLS}
    statuses = Statuses(client)
    broken = []

    for url, page in pages.items():
        for link in page.links:
            if link.startswith("https://"):
                continue  # somebody else's
            target, anchor = urldefrag(urljoin(url, link))
            path = target.partition("?")[0]
            if path in pages:
                is_there = not anchor or anchor in {*pages[path].anchors, "main"}
            elif path.startswith(configured.STATIC_URL):
                is_there = finders.find(path.removeprefix(configured.STATIC_URL)) is not None
            else:
                is_there = statuses[target] in {200, 302}
            if not is_there:
                broken.append((url, link))

    assert broken == []


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_error_has_an_anchor(language: str) -> None:
    anchors = read("/docs/errors", language).anchors

    assert {error.code for error in Error} - set(anchors) == set()


def test_page_has_no_words_of_the_other_language() -> None:
    for url in URLS:
        assert CYRILLIC.findall(read(url, "en").prose) == [], url
        prose = TECHNICAL.sub(" ", read(url, "ru").prose)
        assert set(LATIN.findall(prose)) - set(NAMES.split()) == set(), url


def test_both_languages_have_the_same_sections() -> None:
    for page in PAGES:
        russian, english = (read(page.url, language) for language in LANGUAGES)

        assert russian.anchors == english.anchors, page.slug


def test_reader_finds_the_company_s_test_key(client: Client, reader: Member) -> None:
    ApiKeyFactory.create(company=reader.company, mode=Mode.LIVE)
    key = ApiKeyFactory.create(company=reader.company, mode=Mode.TEST)

    body = client.get(reverse("docs")).content.decode()

    assert f"{key.prefix}…{key.last4}" in body
    assert key.plaintext not in body


@pytest.mark.parametrize("url", URLS)
def test_no_snippet_has_a_shortened_key(client: Client, reader: Member, url: str) -> None:
    """It would be copied as if it were whole."""
    ApiKeyFactory.create(company=reader.company, mode=Mode.TEST)

    body = client.get(url).content.decode()

    snippets = re.findall(r"<pre.*?</pre>", body, re.DOTALL)
    calls = [snippet for snippet in snippets if "KVITOK_KEY=" in snippet]
    assert [
        snippet for snippet in snippets if re.search(r"kv_(test|live)_[0-9A-Za-z]*…", snippet)
    ] == []
    assert all(HINT in re.sub(r"<[^>]+>", "", call) for call in calls)


@pytest.mark.parametrize("language", LANGUAGES)
def test_markdown_has_no_word_of_a_button(client: Client, language: str) -> None:
    for page in PAGES:
        lines = client.get(f"/docs/{page.slug}.md?lang={language}").content.decode().splitlines()

        assert not {"Copy", "Копировать"} & set(lines), page.slug


def test_reader_without_a_test_key_gets_a_link_to_create_one(
    client: Client, reader: Member
) -> None:
    body = client.get(reverse("docs")).content.decode()

    assert f'href="{reverse("key-create")}"' in body
    assert reverse("account_signup") not in body


def test_accountant_cannot_see_keys(client: Client, reader: Member) -> None:
    key = ApiKeyFactory.create(company=reader.company, mode=Mode.TEST)
    Member.objects.update(role=Member.Role.ACCOUNTANT)

    body = client.get(reverse("docs")).content.decode()

    assert key.last4 not in body


def test_pages_are_read_one_after_another(client: Client) -> None:
    seen = []
    url = URLS[0]

    while url:
        seen.append(url)
        body = client.get(url).content.decode()
        match = re.search(r'href="([^"]+)"\s+rel="next"', body)
        url = match[1] if match else ""

    assert seen == URLS


def test_button_puts_a_new_test_key_into_the_snippets(client: Client, reader: Member) -> None:
    page = client.get("/docs/send-code").content.decode()
    assert 'action="/docs/send-code/key"' in page

    response = client.post("/docs/send-code/key")

    body = response.content.decode()
    key = ApiKey.objects.get()
    shown = re.search(r"kv_test_[0-9A-Za-z]{38}", body)
    assert shown is not None
    assert (key.mode, key.company) == (Mode.TEST, reader.company)
    assert api_keys.find(shown[0]) is not None
    assert re.sub(r"<[^>]+>", "", body).count(shown[0]) == 1
    assert "no-store" in response["Cache-Control"]
    assert client.get("/docs/send-code/key")["Location"] == "/docs/send-code"
    assert shown[0] not in client.get("/docs/send-code").content.decode()


@pytest.mark.parametrize("role", [Member.Role.ACCOUNTANT, Member.Role.VIEWER])
def test_member_without_key_rights_has_no_button(client: Client, reader: Member, role: str) -> None:
    Member.objects.update(role=role)

    assert "/docs/send-code/key" not in client.get("/docs/send-code").content.decode()
    assert client.post("/docs/send-code/key").status_code == 403
    assert not ApiKey.objects.exists()


def test_stranger_s_key_button_leads_to_the_sign_in_page(client: Client, db: None) -> None:
    response = client.post("/docs/send-code/key")

    assert response.status_code == 302
    assert response["Location"].startswith(reverse("account_login"))


def test_docs_page_makes_no_key_over_the_limit(client: Client, reader: Member) -> None:
    for _ in range(key_issuing.MAX_ACTIVE_KEYS):
        ApiKeyFactory.create(company=reader.company, mode=Mode.TEST)

    response = client.post("/docs/limits/key", follow=True)

    assert ApiKey.objects.count() == key_issuing.MAX_ACTIVE_KEYS
    assert "alert" in response.content.decode()
