"""Numbers that a country has renumbered: the old and the new spelling are one line.

People keep the old spelling in their contacts, and WhatsApp reports the spelling of the day on
which the account was made. A change is here only if it is certain: everybody's number changed by
the same rule, and nobody else was given the old number. Excluded for that reason: Brazil's
7[0789]…, formerly Nextel's, and fixed lines of Ivory Coast, where the carrier decided.

Sources: the ITU's Operational Bulletins and
https://en.wikipedia.org/wiki/Category:Telephone_numbers
"""

import re
from collections.abc import Iterable
from functools import cache
from typing import NamedTuple


class _Change(NamedTuple):
    """A change of numbers by templates of E.164.

    `n` are the digits that stay, `area` is Brazil's area code.
    """

    old: str
    new: str
    n: str  # a pattern


# Vietnam, 2018: mobile numbers of eleven digits became ten.
_VIETNAM = {
    **{f"16{digit}": f"3{digit}" for digit in range(2, 10)},
    "120": "70",
    "121": "79",
    "122": "77",
    "126": "76",
    "128": "78",
    "123": "83",
    "124": "84",
    "125": "85",
    "127": "81",
    "129": "82",
    "186": "56",
    "188": "58",
    "199": "59",
}
_CHANGES = (
    # Mexico, 2019: the 1 of mobiles was dropped, and with it 01, 044 and 045.
    *(
        _Change(f"+52{prefix}{{n}}", "+52{n}", r"[2-9]\d{9}")
        for prefix in ("1", "01", "044", "045")
    ),
    # Brazil, 2012 to 2016: a ninth digit before the eight of mobiles.
    _Change("+55{area}{n}", "+55{area}9{n}", r"(?:[689]\d|7[1-6])\d{6}"),
    # Argentina: from abroad a 9 replaces the 15 of mobiles; in an SMS people leave it out.
    _Change("+54{n}", "+549{n}", r"(?:11|[23]\d)\d{8}"),
    *(_Change(f"+84{old}{{n}}", f"+84{new}{{n}}", r"\d{7}") for old, new in _VIETNAM.items()),
    # Ivory Coast, 2021: the carrier's two digits before the eight, of which the second named it.
    _Change("+225{n}", "+22501{n}", r"(?:0[1-3]|[457][0-3])\d{6}"),
    _Change("+225{n}", "+22505{n}", r"[04-9][4-6]\d{6}"),
    _Change("+225{n}", "+22507{n}", r"[04-9][7-9]\d{6}"),
    # Cameroon, 2014. Fixed lines of some towns changed otherwise.
    _Change("+237{n}", "+2376{n}", r"[5-79]\d{7}"),
    # Colombia, 2021: fixed lines.
    _Change("+57{n}", "+5760{n}", r"[124-8]\d{7}"),
    # Ecuador, 2012: mobile numbers.
    _Change("+593{n}", "+5939{n}", r"[89]\d{7}"),
    # Benin, 2024.
    _Change("+229{n}", "+22901{n}", r"[24-69]\d{7}"),
    # Gabon, 2019: a 6 or 7 for the 0 of mobiles, a 1 for that of fixed lines.
    _Change("+2410{n}", "+2416{n}", r"[256]\d{6}"),
    _Change("+241{n}", "+2416{n}", r"[256]\d{6}"),
    _Change("+2410{n}", "+2417{n}", r"[47]\d{6}"),
    _Change("+241{n}", "+2417{n}", r"[47]\d{6}"),
    _Change("+2410{n}", "+2411{n}", r"1\d{6}"),
)


def new_spelling(e164: str) -> str | None:
    """The new spelling; None for a number in its present spelling."""
    return next(iter(_rewritten(e164, _to_new())), None)


def old_spellings(e164: str) -> list[str]:
    """The number's spellings in older rows and vendors' responses."""
    return _rewritten(e164, _to_old())


_Rules = dict[str, list[tuple[re.Pattern[str], str]]]  # keyed by the first three characters


def _rewritten(e164: str, rules: _Rules) -> list[str]:
    return [
        template.format(**match.groupdict())
        for pattern, template in rules.get(e164[:3], ())
        if (match := pattern.fullmatch(e164))
    ]


@cache
def _to_new() -> _Rules:
    return _rules((change.old, change.new, change.n) for change in _CHANGES)


@cache
def _to_old() -> _Rules:
    return _rules((change.new, change.old, change.n) for change in _CHANGES)


def _rules(changes: Iterable[tuple[str, str, str]]) -> _Rules:
    rules: _Rules = {}
    for before, after, n in changes:
        groups = before.replace("{area}", "(?P<area>[1-9][1-9])").replace("{n}", f"(?P<n>{n})")
        rules.setdefault(before[:3], []).append((re.compile("\\" + groups), after))
    return rules
