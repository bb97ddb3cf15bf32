"""Finds the language nearest to a language tag, by Unicode CLDR.

A tag's parents come first (`de-AT` → `de`, `pt-AO` → `pt-PT`), then the languages that its speakers
most likely read as well (`relatives.toml`), then its language in another script.
https://www.unicode.org/reports/tr35/#LanguageMatching
"""

import re
import tomllib
from collections.abc import Iterator, Mapping
from functools import cache, lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from babel.core import get_global

from catalogue.languages import tags

OTHER_SCRIPT = 50  # CLDR's distance; a match must be nearer
_SCRIPT, _REGION, _EXTENDED = (re.compile(f"[a-z]{{{n}}}", re.IGNORECASE) for n in (4, 2, 3))


class _Locale(NamedTuple):
    language: str
    script: str  # the language's usual script if the tag has none
    region: str

    @property
    def name(self) -> str:
        """The locale's id in CLDR, such as `pt_BR`, without the language's usual script."""
        script = "" if self.script == _usual_script(self.language) else self.script
        return "_".join(filter(None, (self.language, script, self.region)))


def match(tag: str, supported: frozenset[str]) -> str:
    """The supported language nearest to a tag in any letter case; empty if none is near."""
    return match_canonical(tags.canonical(tag), supported)


@lru_cache(maxsize=4000)
def match_canonical(tag: str, supported: frozenset[str]) -> str:
    """The supported language nearest to a canonical tag; empty if none is near."""
    plain = tags.without_extensions(tag)
    aliased = _aliases().get(tag.replace("-", "_")) or plain.replace("-", "_")
    language, *subtags = aliased.split("_")
    if not language:
        return ""
    if subtags and _EXTENDED.fullmatch(subtags[0]):  # `zh-yue` is `yue`, else `zh`
        extended, *rest = subtags
        return match_canonical("-".join((extended, *rest)), supported) or match_canonical(
            "-".join((language, *rest)), supported
        )
    requested = _locale(language, subtags)
    locales = {_locale_of(code): code for code in sorted(supported)}
    names = {locale.name: code for locale, code in locales.items()}
    for name in _parents(requested.name):
        if name in names:
            return names[name]
    return _nearest(requested, locales)


def _nearest(requested: _Locale, supported: dict[_Locale, str]) -> str:
    distances = {locale: _distance(requested, locale) for locale in supported}
    candidates = [locale for locale, distance in distances.items() if distance < OTHER_SCRIPT]
    candidates = candidates or [
        locale for locale in supported if locale.language == requested.language
    ]
    return supported[min(candidates, key=distances.__getitem__)] if candidates else ""


def _distance(requested: _Locale, other: _Locale) -> int:
    far = 2 * OTHER_SCRIPT
    apart = 0
    if requested.language != other.language:
        apart = _languages(other.language, requested.language, far)
    if requested.script == other.script:
        return apart
    pairs = _tables()["scripts"].get(f"{other.language}-{other.script}", {})
    return apart + int(pairs.get(f"{requested.language}-{requested.script}", OTHER_SCRIPT))


def _languages(supported: str, desired: str, far: int) -> int:
    for distance, names in _tables()["languages"].get(supported, {}).items():
        if desired in names.split():
            return int(distance)
    return far


def _parents(name: str) -> Iterator[str]:
    """A CLDR locale id and those of its ancestors; one with an unusual script has no parent."""
    exceptions = get_global("parent_exceptions")
    while name:
        yield name
        above, _sign, last = name.rpartition("_")
        name = exceptions.get(name) or ("" if _SCRIPT.fullmatch(last) else above)


def _locale_of(tag: str) -> _Locale:
    language, *subtags = tag.split("-")
    return _locale(language, subtags)


def _locale(language: str, subtags: list[str]) -> _Locale:
    """The locale with the script of its region: `zh-TW` and `zh-Hant-TW` are equal."""
    language, _sign, script = _aliases().get(language, language).partition("_")
    script = next(filter(_SCRIPT.fullmatch, subtags), script)
    region = next((part for part in subtags if _REGION.fullmatch(part) or part.isdigit()), "")
    in_region = f"{language}_{region}" if region else ""
    return _Locale(language, script or _usual_script(in_region) or _usual_script(language), region)


def _usual_script(name: str) -> str:
    likely: str = get_global("likely_subtags").get(name, "")
    return likely.split("_")[1] if likely.count("_") > 1 else ""


def _aliases() -> Mapping[str, str]:
    """Replaced codes: `iw` → `he`, `kaz` → `kk`, `sh` → `sr_Latn`."""
    aliases: Mapping[str, str] = get_global("language_aliases")
    return aliases


@cache
def _tables() -> dict[str, Any]:
    return tomllib.loads(Path(__file__).with_name("relatives.toml").read_text(encoding="utf-8"))
