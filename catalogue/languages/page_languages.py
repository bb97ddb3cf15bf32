"""The languages of the pages, the API and the documentation: the default and a request's.

They are `settings.LANGUAGES`: the languages of messages that also have a `pages.toml`, translations
(`locale/`) and articles. The default comes first, and the worldwide one, for everybody else, last.
"""

from functools import cache
from typing import Any

from babel import Locale
from django.conf import settings
from django.utils import translation

from catalogue.languages import FOLDER, matching, read_texts, tags
from catalogue.texts import StrOrPromise
from parsing.text_cache import text_cache


def codes() -> list[str]:
    """The codes, with the default first."""
    return [code for code, _name in settings.LANGUAGES]


def translated() -> list[str]:
    """The codes of `settings.LANGUAGES`, for vendors' options, which may not read settings."""
    return sorted((path.parent.name for path in FOLDER.glob("*/pages.toml")), reverse=True)


def declared(default: str) -> list[tuple[str, str]]:
    """Codes and native names, for the settings: the default first, and last the language without
    countries, for everybody else.
    """
    texts = {code: read_texts(code, "messages.toml") for code in translated()}
    ordered = sorted(texts, key=lambda code: (code != default, not texts[code]["countries"]))
    return [(code, texts[code]["name"]) for code in ordered]


def choices() -> list[tuple[str, str]]:
    """Choices for fields and forms: codes and native names."""
    return list(settings.LANGUAGES)


def title(tag: str) -> str:
    """The name of a tag's language in the language of the page, or the tag itself."""
    names = Locale(active())
    language, *subtags = tags.without_extensions(tag).split("-")
    if language not in names.languages:
        return tag
    details = [names.scripts.get(part) or names.territories.get(part, part) for part in subtags]
    name = str(names.languages[language])
    return f"{name} ({', '.join(details)})" if details else name


def worldwide() -> str:
    """The language for people who use none of the others: the last."""
    return codes()[-1]


@text_cache(1000)
def preferred(header: str, default: str = "") -> str:
    """The language that an Accept-Language header (RFC 9110, 12.5.4) prefers, else `default`, else
    the service's.
    """
    best = default or settings.LANGUAGE_CODE
    best_quality = 0.0
    for language_range in header.lower().split(","):
        tag, _, parameter = language_range.partition(";")
        name = tag.strip().partition("-")[0]
        try:
            quality = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            quality = 0.0
        if name in codes() and quality > best_quality:
            best = name
            best_quality = quality
    return best


def active() -> str:
    """The language of the request, or the default."""
    code = (translation.get_language() or "").partition("-")[0]
    return code if code in codes() else settings.LANGUAGE_CODE


def in_each(text: StrOrPromise, **values: StrOrPromise) -> dict[str, str]:
    """The text's translations by language, with `%(name)s` filled in."""
    loaded = {}
    for code in codes():
        with translation.override(code):
            loaded[code] = str(text) % values
    return loaded


def second_language(code: str) -> str:
    """The second language of a page that shows two."""
    return worldwide() if code != worldwide() else settings.LANGUAGE_CODE


def nearest(tag: str) -> str:
    """The language of the pages nearest to one of messages."""
    return matching.match_canonical(tag, frozenset(codes())) or worldwide()


@cache
def texts(code: str) -> dict[str, Any]:
    """The texts of a language's `pages.toml`."""
    return read_texts(code, "pages.toml")
