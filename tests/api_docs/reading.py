"""Reads a documentation page as its reader does."""

from functools import cache
from html.parser import HTMLParser

from django.conf import settings
from django.test import Client

from api_docs.pages.page_list import PAGES

LANGUAGES = ["ru", "en"]
URLS = [page.url for page in PAGES]
UNSPOKEN = {"code", "pre", "script", "style", "svg", "title"}
VOID = {"meta", "link", "img", "input", "br", "hr", "use"}


class Reading(HTMLParser):
    """A page's text outside its code, its links and its anchors."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.text: list[str] = []
        self.links: list[str] = []
        self.anchors: list[str] = []
        self._open: list[tuple[str, bool]] = []  # tag, whether what is in it is not prose
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.anchors.append(str(given["id"]))
        if tag == "a" and given.get("href"):
            self.links.append(str(given["href"]))
        if tag not in VOID:
            is_foreign = "lang" in given and tag != "html"
            self._open.append((tag, tag in UNSPOKEN or is_foreign))

    def handle_endtag(self, tag: str) -> None:
        while self._open and self._open.pop()[0] != tag:
            pass

    def handle_data(self, data: str) -> None:
        if data.strip() and not any(unspoken for _tag, unspoken in self._open):
            self.text.append(data.strip())

    @property
    def prose(self) -> str:
        return " ".join(self.text)


@cache
def read(url: str, language: str) -> Reading:
    """The page as a visitor reads it, which is the same each time."""
    client = Client()
    client.cookies[settings.LANGUAGE_COOKIE_NAME] = language
    response = client.get(url)
    assert response.status_code == 200, url
    return Reading(response.content.decode())
