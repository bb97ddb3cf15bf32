"""Full-text search of the documentation: in memory, by section, in one language."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from itertools import islice, pairwise

from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from markdown_it.token import Token

from api_docs.pages import articles
from api_docs.pages.page_list import PAGES, Page

MAX_RESULTS = 30
EXCERPT_MARGIN = 90  # characters shown on either side of a match
MAX_QUERY_LENGTH = 100  # characters
MAX_WORDS = 10  # of a query: each word is searched in every section
MAX_COUNTED = 5  # occurrences of a word in a section that count
_WORD = re.compile(r"[\w.-]+")


@dataclass(frozen=True, slots=True)
class Section:
    page: Page
    anchor: str
    title: str
    text: str = ""

    @property
    def url(self) -> str:
        return f"{self.page.url}#{self.anchor}" if self.anchor else self.page.url


@dataclass(frozen=True, slots=True)
class Match:
    section: Section
    excerpt: SafeString


def search(query: str, language: str) -> list[Match]:
    """The best-matching sections that contain every word of the query, in any form."""
    query_words = _WORD.findall(fold(query[:MAX_QUERY_LENGTH]))
    stems = list(dict.fromkeys(map(stem, query_words)))[:MAX_WORDS]
    if not stems:
        return []
    scored = [(score(section, stems, language), section) for section in sections(language)]
    best = sorted((pair for pair in scored if pair[0]), key=lambda pair: -pair[0])
    return [Match(section, excerpt(section, stems)) for _score, section in best[:MAX_RESULTS]]


@cache
def sections(language: str) -> tuple[Section, ...]:
    return tuple(section for page in PAGES for section in _sections(page, language))


def _sections(page: Page, language: str) -> Iterator[Section]:
    current = Section(page, "", str(page.title))
    tokens = articles.tokens(articles.visitor_article(page, language, "curl"))
    for opening, token in pairwise(tokens):
        anchor = _anchor(opening, token)
        if opening.type == "heading_open" or (opening.type == "dt_open" and anchor):
            yield current
            title = " ".join(articles.text_of(token).split())
            current = Section(page, anchor or current.anchor, title)
        elif token.type in {"inline", "fence"}:
            text = articles.text_of(token) or token.content
            current = replace(current, text=f"{current.text} {text.strip()}")
    yield current


def _anchor(opening: Token, title: Token) -> str:
    ids = (token.attrGet("id") for token in (opening, *(title.children or ())))
    return next((str(anchor) for anchor in ids if anchor), "")


def fold(text: str) -> str:
    return text.casefold().replace("ё", "е")


def stem(word: str) -> str:
    """The word without its inflectional ending, roughly: «лимитов» also finds «лимиты»."""
    if re.fullmatch(r"[а-я]{5,}", word):
        return word[: max(4, len(word) - 2)]
    return word[:-1] if len(word) > 3 and word.endswith("s") else word


def score(section: Section, stems: Sequence[str], language: str) -> int:
    """The relevance; 0 if a word is in neither the text, its title nor the page's title."""
    title = fold(section.title)
    text = fold(section.text)
    page = fold(str(section.page.title))
    total = 0
    for stem in stems:
        begins = re.compile(rf"(?<!\w){re.escape(stem)}")
        here = sum(1 for _ in islice(begins.finditer(text), MAX_COUNTED))
        in_title = bool(begins.search(title))
        in_page = bool(begins.search(page))
        if not (here or in_title or in_page):
            return 0
        total += here + 20 * in_title + 5 * in_page + 20 * (title == stem)
    return total


def excerpt(section: Section, stems: Sequence[str]) -> SafeString:
    text = re.sub(r"\s+", " ", section.text).strip()
    pattern = re.compile("|".join(rf"(?<!\w){re.escape(stem)}\w*" for stem in stems))
    first = pattern.search(fold(text))
    start = max(0, (first.start() if first else 0) - EXCERPT_MARGIN)
    passage = text[start : start + 2 * EXCERPT_MARGIN]
    return format_html(
        "{}{}{}",
        "…" if start else "",
        format_html_join("", "{}{}{}", _mark_matches(passage, pattern)),
        "…" if start + 2 * EXCERPT_MARGIN < len(text) else "",
    )


def _mark_matches(passage: str, pattern: re.Pattern[str]) -> Iterator[tuple[str, str, str]]:
    """The passage in pieces: text before a match, and the match between `<mark>` tags."""
    end = 0
    for match in pattern.finditer(fold(passage)):
        yield "", passage[end : match.start()], ""
        yield mark_safe("<mark>"), passage[match.start() : match.end()], mark_safe("</mark>")
        end = match.end()
    yield "", passage[end:], ""
