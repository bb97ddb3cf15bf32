"""The pages' articles as any visitor reads them, without their frame: for machines and search."""

from functools import cache
from typing import Any

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import translation

from api_docs.pages import contexts
from api_docs.pages.html_tree import Element, parse
from api_docs.pages.page_list import Page

FRAME = "docs/article.html"


@cache
def article(page: Page, language: str, sample_language: str) -> Element:
    with translation.override(language):
        context = contexts.of_page(_visitor(), page, sample_language) | {"frame": FRAME}
        return parse(render_to_string(f"docs/{language}/{page.slug}.html", context))


def _visitor() -> HttpRequest:
    request: Any = HttpRequest()
    request.user = AnonymousUser()
    request.session = {}
    return request  # type: ignore[no-any-return]
