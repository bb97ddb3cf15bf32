"""BCP 47 language tags, as sent by requests, browsers and identity servers.

https://www.rfc-editor.org/rfc/rfc5646#section-2.1
"""

import re

from parsing.text_cache import text_cache

MAX_LENGTH = 35  # characters that every implementation must be able to store (RFC 5646, 4.4.1)
LOOSE_PATTERN = r"^[A-Za-z]{1,8}([-_][A-Za-z0-9]{1,8})*$"  # for schemas; `canonical` is strict

_WELL_FORMED = re.compile(
    r"""
    (?: [a-z]{2,3} (?: -[a-z]{3} ){0,3} | [a-z]{4,8} )  # language, with extended ones
    (?: -[a-z]{4} )?                                    # script
    (?: -(?: [a-z]{2} | [0-9]{3} ) )?                   # region
    (?P<variants> (?: -(?: [a-z0-9]{5,8} | [0-9][a-z0-9]{3} ) )* )
    (?P<extensions> (?: -[0-9a-wy-z] (?: -[a-z0-9]{2,8} )+ )* )
    (?: -x (?: -[a-z0-9]{1,8} )+ )?
    | x (?: -[a-z0-9]{1,8} )+
    """,
    re.VERBOSE,
)
# Registered before the grammar existed; they do not follow it.
_IRREGULAR = {
    *("en-gb-oed", "i-ami", "i-bnn", "i-default", "i-enochian", "i-hak", "i-klingon", "i-lux"),
    *("i-mingo", "i-navajo", "i-pwn", "i-tao", "i-tay", "i-tsu", "sgn-be-fr", "sgn-be-nl"),
    "sgn-ch-de",
}
_SINGLETON = re.compile(r"-([0-9a-z])(?=-)")


@text_cache(2000)
def canonical(text: str) -> str:
    """The tag in the letter case of RFC 5646; empty if it is not well-formed.

    `pt_br` is read as `pt-BR`: the locales of operating systems have underscores.
    """
    if not text.isascii() or len(text) > MAX_LENGTH:
        return ""
    lowered = text.lower().replace("_", "-")
    return _in_case(lowered) if _is_well_formed(lowered) else ""


def _is_well_formed(lowered: str) -> bool:
    if lowered in _IRREGULAR:
        return True
    parts = _WELL_FORMED.fullmatch(lowered)
    if parts is None:
        return False
    variants = (parts["variants"] or "").split("-")[1:]
    singletons = _SINGLETON.findall(parts["extensions"] or "")
    return all(len(set(subtags)) == len(subtags) for subtags in (variants, singletons))


def _in_case(lowered: str) -> str:
    """The tag in the letter case of section 2.1.1, which keeps what follows a singleton."""
    first, *rest = lowered.split("-")
    cased = [first]
    is_after_singleton = len(first) == 1
    for subtag in rest:
        is_after_singleton |= len(subtag) == 1
        if is_after_singleton or len(subtag) not in {2, 4}:
            cased.append(subtag)
        else:
            cased.append(subtag.upper() if len(subtag) == 2 else subtag.title())
    return "-".join(cased)


def without_extensions(tag: str) -> str:
    """The language, script, region and variants of a canonical tag; empty if it has none."""
    return re.split(r"(?:^|-)[0-9A-Za-z](?:-|$)", tag, maxsplit=1)[0]
