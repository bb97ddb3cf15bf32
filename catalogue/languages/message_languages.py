"""The languages of messages, and the choice for a message: the request's, else the company's.

A request may name any BCP 47 tag; `match` finds the nearest language.
"""

from functools import cache
from typing import Any

from django.utils.translation import gettext_lazy as _

from catalogue.languages import FOLDER, matching, page_languages, read_texts
from catalogue.texts import StrOrPromise


@cache
def codes() -> frozenset[str]:
    """The tags of the languages that have texts."""
    return frozenset(path.parent.name for path in FOLDER.glob("*/messages.toml"))


@cache
def choices() -> list[tuple[str, str]]:
    """Choices for model fields: tags and native names, the pages' languages first."""
    first = page_languages.codes()
    return [(code, texts(code)["name"]) for code in (*first, *sorted(codes() - set(first)))]


def grouped_choices(also: str = "") -> list[tuple[StrOrPromise, list[tuple[str, str]]]]:
    """Choices for forms, in two groups, with names in the page's language. `also` is a stored tag,
    which may be one without texts.
    """
    first = [*page_languages.codes(), *([also] if also and also not in codes() else [])]
    others = sorted((_label(code), code) for code in codes() - set(first))
    return [
        (_("Languages of the cabinet"), [(code, _label(code)) for code in first]),
        (_("Other languages"), [(code, label) for label, code in others]),
    ]


def _label(tag: str) -> str:
    label = page_languages.title(tag)
    return label[:1].upper() + label[1:]


def match(tag: str, company: str = "") -> str:
    """The language of messages nearest to a tag, else to the company's, else the worldwide one."""
    return (
        matching.match(tag, codes())
        or matching.match(company, codes())
        or page_languages.worldwide()
    )


def has_match(tag: str) -> bool:
    """Whether a language of messages matches the tag, whatever the company's language."""
    return bool(matching.match(tag, codes()))


def of_country(country: str) -> str:
    """The default language of messages to a country, by its ISO 3166 code."""
    languages = (code for code in codes() if country in texts(code)["countries"])
    return next(languages, page_languages.worldwide())


@cache
def texts(code: str) -> dict[str, Any]:
    """The texts of a language of messages."""
    return read_texts(code, "messages.toml")


def words(name: str) -> frozenset[str]:
    """The words of this list in every language: a person may answer in any."""
    return frozenset(word for code in codes() for word in texts(code)[name])


def native_name(tag: str) -> str:
    """The native name of one of our languages; the title of any other tag."""
    return str(texts(tag)["name"]) if tag in codes() else page_languages.title(tag)
