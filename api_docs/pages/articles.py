"""The pages' articles: Django templates of Markdown, served as HTML and Markdown; search reads them
as plain text.

We write the articles, so their content, including HTML, is trusted.
"""

import re
from collections.abc import Sequence
from functools import cache, lru_cache
from typing import Any
from urllib.parse import urljoin

from django.conf import settings
from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.urls import reverse
from django.utils import translation
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from mdit_py_plugins.attrs import attrs_block_plugin, attrs_plugin
from mdit_py_plugins.deflist import deflist_plugin

from api_docs.pages import contexts, samples
from api_docs.pages.page_list import BY_SLUG, Page
from catalogue.languages import page_languages

_LINK_TO_PAGE = re.compile(r"([\w-]+)\.md(#.*)?")


class Renderer(RendererHTML):
    """Renders Markdown as the documentation's HTML; methods are named after markdown-it's rules."""

    def paragraph_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        if not idx:
            tokens[idx].attrSet("class", "lead-in")
        return self.renderToken(tokens, idx, *rest)

    def heading_close(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        anchor = tokens[idx - 2].attrGet("id")
        text = text_of(tokens[idx - 1])
        link = format_html(
            ' <a class="anchor" href="#{}" aria-label="{}">#</a>',
            anchor,
            gettext("Link to “%(words)s”") % {"words": text},
        )
        return (link if anchor else "") + self.renderToken(tokens, idx, *rest)

    def fence(self, tokens: Sequence[Token], idx: int, *_rest: Any) -> str:
        token = tokens[idx]
        code = samples.highlighted(token.content.strip("\n"), token.info)
        context = {"id": token.attrGet("id"), "code": code, "lexer": token.info, "css": "code"}
        return render_to_string("components/snippet.html", context)

    def link_open(self, tokens: Sequence[Token], idx: int, *rest: Any) -> str:
        href = str(tokens[idx].attrGet("href"))
        if to_page := _LINK_TO_PAGE.fullmatch(href):
            tokens[idx].attrSet("href", BY_SLUG[to_page[1]].url + (to_page[2] or ""))
        elif href.startswith("https:"):
            tokens[idx].attrSet("rel", "noopener")
        return self.renderToken(tokens, idx, *rest)

    def dl_open(self, *_args: Any) -> str:
        return '<dl class="fields">\n'

    def th_open(self, *_args: Any) -> str:
        return '<th scope="col">'

    def td_open(self, tokens: Sequence[Token], idx: int, *_rest: Any) -> str:
        return '<th scope="row">' if tokens[idx - 1].type == "tr_open" else "<td>"

    def td_close(self, tokens: Sequence[Token], idx: int, *_rest: Any) -> str:
        return "</th>" if tokens[idx - 3].type == "tr_open" else "</td>"


_MARKDOWN = (
    MarkdownIt(renderer_cls=Renderer)
    .enable("table")
    .disable("code")  # insertions are indented
    .use(deflist_plugin)
    .use(attrs_block_plugin)
    .use(attrs_plugin, after=("link_close", "span_close"), spans=True)
)
_TEXT_RENDERER = RendererHTML()


def as_html(text: str) -> SafeString:
    html: str = _MARKDOWN.render(text)
    return mark_safe(html)  # noqa: S308


@lru_cache(maxsize=100)
def visitor_html(text: str, _language: str) -> SafeString:
    """The text as HTML, cached: only for texts that contain no API key of a reader."""
    return as_html(text)


_FENCE = re.compile(r"(^```.*?^```$)", re.M | re.S)
_HTML_AND_ATTRIBUTES = re.compile(r"^ *<.*\n|^\{[#.\w].*\}\n|(?<=\))\{.*?\}", re.M)
_SPAN = re.compile(r"\[([^\[\]]+)\]\{.*?\}")
_ADDRESS = re.compile(r"(?<=\]\()[^)]+")
_GAP = re.compile(r"\s*\n\s*\n")


def as_markdown(page: Page, text: str) -> str:
    """The article as Markdown with absolute URLs, without HTML and attributes for browsers."""
    base = settings.PUBLIC_URL + reverse("docs-markdown", args=[page.slug])
    parts = _FENCE.split(f"# {page.title}\n\n{text}")
    for index in range(0, len(parts), 2):
        prose = _HTML_AND_ATTRIBUTES.sub("", parts[index]).replace("&nbsp;", "\u00a0")
        prose = _ADDRESS.sub(lambda href: urljoin(base, href[0]), _SPAN.sub(r"\1", prose))
        parts[index] = _GAP.sub("\n\n", prose)
    return "".join(parts).strip() + "\n"


def first_paragraph(text: str) -> str:
    """The article's first paragraph as plain text."""
    return text_of(next(token for token in tokens(text) if token.type == "inline"))


def tokens(text: str) -> list[Token]:
    return _MARKDOWN.parse(text)


def text_of(token: Token) -> str:
    return _TEXT_RENDERER.renderInlineAsText(token.children, _MARKDOWN.options, {})


def article(page: Page, context: dict[str, Any], request: HttpRequest | None = None) -> str:
    """The article as Markdown in the reader's language."""
    name = f"{page_languages.active()}/{page.slug}.md"
    return render_to_string(name, context, request, using="articles")


@cache
def visitor_article(page: Page, language: str, sample_language: str) -> str:
    with translation.override(language):
        return article(page, contexts.of_page(_visitor(), page, sample_language))


def _visitor() -> HttpRequest:
    request: Any = HttpRequest()
    request.user = AnonymousUser()
    request.session = {}
    return request  # type: ignore[no-any-return]
