"""The pages' articles as any visitor reads them: as a tree for the search, and as Markdown."""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cache
from html.parser import HTMLParser
from typing import Any
from urllib.parse import urljoin

from django.contrib.auth.models import AnonymousUser
from django.http import HttpRequest
from django.template.loader import render_to_string
from django.utils import translation

from api_docs.pages import contexts
from api_docs.pages.page_list import Page

VOID = {"br", "hr", "img", "input", "link", "meta", "use"}
_CHROME = {"button", "svg", "nav", "form"}  # nothing in them is said


@dataclass
class Element:
    tag: str
    attributes: dict[str, str] = field(default_factory=dict)
    children: list["Element | str"] = field(default_factory=list)

    def elements(self) -> Iterator["Element"]:
        """It and all that are in it, in order."""
        yield self
        for child in self.children:
            if isinstance(child, Element):
                yield from child.elements()

    @property
    def text(self) -> str:
        return "".join(child if isinstance(child, str) else child.text for child in self.children)

    @property
    def is_silent(self) -> bool:
        return self.tag in _CHROME or self.attributes.get("class") == "anchor"


class _Builder(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.root = Element("article")
        self._open = [self.root]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        element = Element(tag, {name: value or "" for name, value in attrs})
        if not element.is_silent:
            self._open[-1].children.append(element)
        if tag not in VOID:
            self._open.append(element)

    def handle_endtag(self, tag: str) -> None:
        if tag in VOID:  # `<use/>` says that it ends, and was never opened
            return
        while len(self._open) > 1 and self._open.pop().tag != tag:
            pass

    def handle_data(self, data: str) -> None:
        self._open[-1].children.append(data)


def parse(html: str) -> Element:
    builder = _Builder()
    builder.feed(html)
    return builder.root


_BLOCKS = {"article", "div", "section", "details", "tbody", "main"}
_HEADINGS = {"h1": "#", "h2": "##", "h3": "###", "summary": "####"}
_MARKS = {"strong": "**", "em": "*"}


def markdown(article: Element, base: str) -> str:
    """`base` is the page's own address: links become absolute."""
    blocks = [block for block in _blocks(article, base) if block]
    return "\n\n".join(blocks) + "\n"


def first_words(article: Element) -> str:
    """What the page says of itself first."""
    paragraph = next(element for element in article.elements() if element.tag == "p")
    return _flat(paragraph.text)


def _blocks(element: Element, base: str) -> list[str]:
    if element.tag in _BLOCKS:
        return [
            block
            for child in element.children
            if isinstance(child, Element)
            for block in _blocks(child, base)
        ]
    return [_block(element, base)]


def _block(element: Element, base: str) -> str:
    heading = _HEADINGS.get(element.tag)
    if heading:
        return f"{heading} {_inline(element, base)}"
    match element.tag:
        case "ul" | "ol":
            return _list(element, base)
        case "dl":
            return _definitions(element, base)
        case "table":
            return _table(element, base)
        case "pre":
            return f"```{element.attributes.get('data-lexer', '')}\n{element.text.strip()}\n```"
        case _:
            return _inline(element, base)


def _list(element: Element, base: str) -> str:
    items = [item for item in element.children if isinstance(item, Element)]
    marks = [f"{n}." if element.tag == "ol" else "-" for n in range(1, len(items) + 1)]
    return "\n".join(
        f"{bullet} {_inline(item, base)}" for bullet, item in zip(marks, items, strict=True)
    )


def _definitions(element: Element, base: str) -> str:
    lines: list[str] = []
    for child in element.children:
        if isinstance(child, Element) and child.tag == "dt":
            parts = [_span(part, base) for part in child.children if isinstance(part, Element)]
            lines.append("- " + (", ".join(parts) or f"**{_inline(child, base)}**"))
        elif isinstance(child, Element) and lines:
            lines[-1] += f": {_inline(child, base)}"
    return "\n".join(lines)


def _table(element: Element, base: str) -> str:
    rows = [
        [_inline(cell, base) for cell in row.children if isinstance(cell, Element)]
        for row in element.elements()
        if row.tag == "tr"
    ]
    rows.insert(1, ["---"] * len(rows[0]))
    return "\n".join(f"| {' | '.join(row)} |" for row in rows)


def _inline(element: Element, base: str) -> str:
    parts = [child if isinstance(child, str) else _span(child, base) for child in element.children]
    return _flat("".join(parts))


def _span(element: Element, base: str) -> str:
    if element.tag == "code":
        return f"`{element.text}`"
    inside = _inline(element, base)
    if element.tag == "a" and inside:
        return f"[{inside}]({urljoin(base, element.attributes['href'])})"
    if element.tag == "q":
        return f"“{inside}”"
    sign = _MARKS.get(element.tag, "")
    # What was apart on the page stays apart: a method from its path, say.
    return f"{sign}{inside}{sign}"


def _flat(text: str) -> str:
    return re.sub(r"\s+", " ", text).strip()


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
