"""The documentation's pages, in the order they are read."""

from dataclasses import dataclass

from django.urls import reverse

from api_docs.calls import CALLS
from api_docs.calls.shapes import Call
from config.errors import Words


@dataclass(frozen=True, slots=True)
class Page:
    slug: str
    title: Words

    @property
    def url(self) -> str:
        if self.slug == FIRST:
            return reverse("docs")
        return reverse("docs-page", args=[self.slug])

    @property
    def call(self) -> Call | None:
        """The call this page is about, if it is about one."""
        return next((call for call in CALLS if call.page == self.slug), None)


FIRST = "quickstart"
SECTIONS: tuple[tuple[Words, tuple[Page, ...]], ...] = (
    (
        ("Начало", "Start"),
        (
            Page(FIRST, ("Быстрый старт", "Quickstart")),
            Page("test-mode", ("Тестовый режим", "Test mode")),
            Page("examples", ("Примеры кода", "Code examples")),
        ),
    ),
    (
        ("Вызовы", "Calls"),
        (
            Page("send-code", ("Отправить код", "Send a code")),
            Page("verify-code", ("Проверить код", "Verify a code")),
            Page("shorten", ("Сократить ссылку", "Shorten a link")),
            Page("send-link", ("Отправить ссылку", "Send a link")),
            Page("calls", ("Все вызовы", "All calls")),
        ),
    ),
    (
        ("Как это устроено", "How it works"),
        (
            Page("errors", ("Ошибки", "Errors")),
            Page("statuses", ("Статусы и списания", "Statuses and charges")),
            Page("limits", ("Лимиты", "Limits")),
            Page("links", ("Короткие ссылки", "Short links")),
            Page("texts", ("Тексты и автозаполнение", "Texts and autofill")),
            Page("idempotency", ("Повторы без дублей", "Safe retries")),
            Page("webhooks", ("Вебхуки", "Webhooks")),
            Page("changelog", ("История изменений", "Changelog")),
        ),
    ),
)
PAGES = [page for _title, pages in SECTIONS for page in pages]
FORMER = {"callbacks": "webhooks"}  # names that pages had before
BY_SLUG = {page.slug: page for page in PAGES}


def beside(page: Page) -> tuple[Page | None, Page | None]:
    """The page before and the page after."""
    place = PAGES.index(page)
    before = PAGES[place - 1] if place else None
    return before, PAGES[place + 1] if place + 1 < len(PAGES) else None
