"""The documentation's search, and its pages as Markdown."""

import re

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse

from accounts.models import Member, Mode
from api_docs.pages import search as search_module
from api_docs.pages.page_list import PAGES, Page
from api_docs.pages.search import search
from catalogue.errors import Error
from tests.factories import ApiKeyFactory

LANGUAGES = ["ru", "en"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("error", Error, ids=lambda error: error.code)
def test_error_code_leads_to_its_entry(error: Error, language: str) -> None:
    urls = [found.section.url for found in search(error.code, language)]

    assert urls[0] == f"/docs/errors#{error.code}"


@pytest.mark.parametrize(
    ("query", "language", "url"),
    [
        ("лимитов", "ru", "/docs/limits"),
        ("idempotency replayed", "en", "/docs/idempotency#how"),
        ("подпись", "ru", "/docs/webhooks#signature"),
        ("FALLBACK", "en", "/docs/statuses#fallback"),
        ("запасные каналы", "ru", "/docs/statuses#fallback"),
    ],
)
def test_words_in_any_form_find_their_section(query: str, language: str, url: str) -> None:
    assert url in [found.section.url for found in search(query, language)][:5]


def test_results_page_escapes_the_query(client: Client) -> None:
    body = client.get("/docs/search", {"q": "<script>x"}).content.decode()

    assert "<script>x" not in body
    assert "&lt;script&gt;x" in body


@pytest.mark.parametrize("query", ["", "   ", "?!", "x" * 5000, "\x00", "(((", "код " * 500])
def test_any_query_gets_a_page(client: Client, query: str) -> None:
    assert client.get("/docs/search", {"q": query}).status_code == 200


@pytest.mark.parametrize("query", ["t " * 500, " ".join("abcdefghijklmnopqrstuvwxyz" * 9)])
def test_search_uses_at_most_ten_words(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Fifty times the same letter took three quarters of a second, of anybody's request."""
    asked: list[tuple[str, ...]] = []

    def score(_section: object, stems: list[str], _language: str) -> int:
        asked.append(tuple(stems))
        return 0

    monkeypatch.setattr(search_module, "score", score)
    search(query, "en")

    (stems,) = set(asked)
    assert len(set(stems)) == len(stems) <= 10


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.slug)
def test_page_is_available_as_markdown(client: Client, page: Page, language: str) -> None:
    slug = page.slug
    html = client.get(f"/docs/{slug}?lang={language}").content.decode()

    response = client.get(f"/docs/{slug}.md?lang={language}")

    text = response.content.decode()
    prose = re.sub(r"```.*?```|`[^`]*`", "", text, flags=re.S)
    assert response["Content-Type"] == "text/markdown; charset=utf-8"
    assert text.startswith("# ")
    assert re.findall(r"</?[a-z]+[ >]", prose) == []
    assert len(re.findall(r"^## ", text, re.M)) == html.count("<h2 id")


def test_markdown_page_omits_reader_key(client: Client, reader: Member) -> None:
    key = ApiKeyFactory.create(company=reader.company, mode=Mode.TEST)

    assert key.last4 in client.get("/docs").content.decode()
    assert key.last4 not in client.get("/docs/quickstart.md").content.decode()


def test_markdown_has_whole_addresses(client: Client) -> None:
    text = client.get("/docs/statuses.md?lang=en").content.decode()

    assert f"[webhooks]({settings.PUBLIC_URL}/docs/webhooks.md)" in text
    assert f"[company's settings]({settings.PUBLIC_URL}/cabinet/settings#fallback)" in text


@pytest.mark.parametrize("language", LANGUAGES)
def test_llms_txt_lists_every_page_in_the_requested_language(client: Client, language: str) -> None:
    response = client.get(f"/llms.txt?lang={language}")

    text = response.content.decode()
    links = re.findall(r"^- \[([^\]]+)\]\(([^)]+)\): (.+)$", text, re.M)
    assert response["Content-Type"].startswith("text/plain")
    assert re.match(r"# Kvitok\n\n> .+\n", text)
    assert len(links) == len(PAGES) + 1
    for _title, url, _words in links:
        assert client.get(url.removeprefix(settings.PUBLIC_URL)).status_code == 200
    assert bool(re.search("[а-я]", text)) is (language == "ru")


@pytest.mark.parametrize("path", ["/docs", "/docs/errors", "/docs/search"])
def test_address_chooses_the_language_and_it_stays(client: Client, path: str) -> None:
    assert '<html lang="en"' in client.get(f"{path}?lang=en").content.decode()
    assert '<html lang="en"' in client.get("/docs/limits").content.decode()
    assert '<html lang="ru"' in client.get(f"{path}?lang=ru").content.decode()


def test_switch_wins_over_the_address(client: Client) -> None:
    response = client.post(
        reverse("language"), {"language": "ru", "next": "/docs/errors?lang=en&code=go"}
    )

    assert response["Location"] == "/docs/errors?code=go"


def test_former_name_of_a_page_leads_to_its_new_one(client: Client) -> None:
    assert client.get("/docs/callbacks")["Location"] == "/docs/webhooks"
    assert client.get("/docs/api")["Location"] == "/docs/calls"
