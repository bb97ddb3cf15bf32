"""The languages, each a file of the texts that people with a phone get: `<code>.toml`.

Pages and the API are translated in `locale/`, the documentation in its articles.
"""

import tomllib
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

from django.conf import settings
from django.utils import translation

from catalogue.texts import StrOrPromise

FOLDER = Path(__file__).parent


def codes() -> list[str]:
    """The default language is the first."""
    return [code for code, _name in settings.LANGUAGES]


def translated() -> list[str]:
    """The languages that have texts: all of the settings, which a vendor's options may not read."""
    return sorted((path.stem for path in FOLDER.glob("*.toml")), reverse=True)


def declared(default: str) -> list[tuple[str, str]]:
    """Codes and own names, for the settings: the default is the first, and the last is the one
    without countries, for whoever has none of the others.
    """
    known = sorted(translated(), key=lambda code: (code != default, not texts(code)["countries"]))
    return [(code, texts(code)["name"]) for code in known]


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
    made = {}
    for code in codes():
        with translation.override(code):
            made[code] = str(text) % facts
    return made


def other(code: str) -> str:
    """The second language of a page that shows two."""
    return worldwide() if code != worldwide() else settings.LANGUAGE_CODE


def of_country(country: str) -> str:
    """The default language of messages to a country, by its ISO 3166 code."""
    spoken = (code for code in codes() if country in texts(code)["countries"])
    return next(spoken, worldwide())


def of_tag(tag: str) -> str:
    """The language of an IETF tag such as `kk-KZ`."""
    code = tag.lower().partition("-")[0]
    return code if code in codes() else worldwide()


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
def texts(code: str) -> dict[str, Any]:
    return tomllib.loads((FOLDER / f"{code}.toml").read_text(encoding="utf-8"))


def words(name: str) -> frozenset[str]:
    """The words of every language: a person may answer in any."""
    return frozenset(word for code in codes() for word in texts(code)[name])
