"""Languages: those of messages, which people with a phone get, and those of the pages.

A language of messages is a folder `<tag>` with `messages.toml`; requests ask for it by any tag of
BCP 47, and `match` finds the nearest. Two of them are languages of the pages, too, with a
`pages.toml`: those of `settings.LANGUAGES`, into which pages and the API are translated (`locale/`)
and the documentation (its articles). `codes` and `choices` are the pages'; names of those of
messages say so.
"""

import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from babel import Locale
from django.conf import settings
from django.utils import translation
from django.utils.translation import gettext_lazy as _

from catalogue.languages import matching, tags
from catalogue.texts import StrOrPromise

FOLDER = Path(__file__).parent

canonical = tags.canonical


# --- Languages of messages ---


@cache
def message_codes() -> frozenset[str]:
    """The tags of the languages that have texts."""
    return frozenset(path.parent.name for path in FOLDER.glob("*/messages.toml"))


@cache
def message_choices() -> list[tuple[str, str]]:
    """For a field of a model: tags and the languages' own names, those of the pages first."""
    others = sorted(message_codes() - set(codes()))
    return [(code, texts(code)["name"]) for code in (*codes(), *others)]


def offered(also: str = "") -> list[tuple[StrOrPromise, list[tuple[str, str]]]]:
    """For a form: in two groups, named in the language of the page.

    `also` is a tag that is stored already, and may be none of ours.
    """
    first = [*codes(), *([also] if also and also not in message_codes() else [])]
    others = sorted((_label(code), code) for code in message_codes() - set(first))
    return [
        (_("Languages of the cabinet"), [(code, _label(code)) for code in first]),
        (_("Other languages"), [(code, label) for label, code in others]),
    ]


def _label(tag: str) -> str:
    label = title(tag)
    return label[:1].upper() + label[1:]


def match(tag: str, company: str = "") -> str:
    """The language of messages nearest to a tag, else to the company's, else the worldwide one."""
    codes = message_codes()
    return match_among(tag, codes) or match_among(company, codes) or worldwide()


def has_match(tag: str) -> bool:
    """Whether a language of messages is near to the tag, whatever the company's language."""
    return bool(match_among(tag, message_codes()))


def match_among(tag: str, among: frozenset[str]) -> str:
    """The nearest of these languages to a tag in any letter case; empty if none is near."""
    return matching.closest(tags.canonical(tag), among)


def of_country(country: str) -> str:
    """The default language of messages to a country, by its ISO 3166 code."""
    spoken = (code for code in message_codes() if country in texts(code)["countries"])
    return next(spoken, worldwide())


@cache
def texts(code: str) -> dict[str, Any]:
    """The texts of a language of messages."""
    return _read(code, "messages.toml")


def words(name: str) -> frozenset[str]:
    """The words of every language: a person may answer in any."""
    return frozenset(word for code in message_codes() for word in texts(code)[name])


def own_name(tag: str) -> str:
    """The name of a language of ours in itself; of another tag its title."""
    return str(texts(tag)["name"]) if tag in message_codes() else title(tag)


def title(tag: str) -> str:
    """The name of a tag's language in the language of the page, or the tag itself."""
    names = Locale(active())
    language, *subtags = tags.without_extensions(tag).split("-")
    if language not in names.languages:
        return tag
    details = [names.scripts.get(part) or names.territories.get(part, part) for part in subtags]
    name = str(names.languages[language])
    return f"{name} ({', '.join(details)})" if details else name


# --- Languages of the pages ---


def codes() -> list[str]:
    """The default language is the first."""
    return [code for code, _name in settings.LANGUAGES]


def translated() -> list[str]:
    """The languages of the pages: all of the settings, which a vendor's options may not read."""
    return sorted((path.parent.name for path in FOLDER.glob("*/pages.toml")), reverse=True)


def declared(default: str) -> list[tuple[str, str]]:
    """Codes and own names, for the settings: the default is the first, and the last is the one
    without countries, for whoever has none of the others.
    """
    ordered = sorted(translated(), key=lambda code: (code != default, not texts(code)["countries"]))
    return [(code, texts(code)["name"]) for code in ordered]


def choices() -> list[tuple[str, str]]:
    """For a field or a form: codes and the languages' own names."""
    return list(settings.LANGUAGES)


def worldwide() -> str:
    """The language for whoever has none of the others: the last."""
    return codes()[-1]


def active() -> str:
    """The language of the request, or the default."""
    code = (translation.get_language() or "").partition("-")[0]
    return code if code in codes() else settings.LANGUAGE_CODE


def in_each(text: StrOrPromise, **facts: StrOrPromise) -> dict[str, str]:
    """A translated text by language, with its `%(name)s` filled in."""
    loaded = {}
    for code in codes():
        with translation.override(code):
            loaded[code] = str(text) % facts
    return loaded


def other(code: str) -> str:
    """The second language of a page that shows two."""
    return worldwide() if code != worldwide() else settings.LANGUAGE_CODE


def of_pages(tag: str) -> str:
    """The language of the pages nearest to one of messages."""
    return matching.closest(tag, frozenset(codes())) or worldwide()


@lru_cache(maxsize=1000)
def of_accept_language(header: str, default: str = "") -> str:
    """The language that an Accept-Language header prefers, else the default: the service's."""
    best, best_quality = default or settings.LANGUAGE_CODE, 0.0
    for item in header.lower().split(","):
        tag, _, parameter = item.partition(";")
        name = tag.strip().partition("-")[0]
        try:
            quality = float(parameter.strip().removeprefix("q=") or 1)
        except ValueError:
            quality = 0.0
        if name in codes() and quality > best_quality:
            best, best_quality = name, quality
    return best


@cache
def page_texts(code: str) -> dict[str, Any]:
    """What a language of the pages needs beside its translations."""
    return _read(code, "pages.toml")


def _read(code: str, name: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / code / name).read_text(encoding="utf-8"))
