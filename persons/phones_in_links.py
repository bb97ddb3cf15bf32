"""Finds the phone of a person in targets of links, in any spelling that a company may use there.

PostgreSQL reads every link of the company for it, 5 seconds for a million: it looks for the last
digits, and the parser of phones then decides about the few links that have them.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.db.backends.utils import CursorWrapper

from accounts.masked_phones import digit_groups_in
from channels.phone_numbers import e164_or_none, spellings
from config.storage.statements.named_rows import fetch_all
from links.models import Link
from persons import sql
from persons.person import Person, Rows, find_rows

BLANK = "about:blank"
LONGEST = 17  # digits: fifteen of E.164 after 00
TAIL = 7  # digits at the end, which are the same in each spelling
_BYTE = "%(?:25)*"  # percent-encoded, also more than once
_DIGIT = f"(?:{_BYTE}3)?"
_BETWEEN = f"(?:[^0-9a-z%]|{_BYTE}[0-9a-f]{{2}})*"
# Digits of Arabic, of Persian, and full-width ones are left to the parser.
_OTHER_SCRIPTS = rf"[٠-٩۰-۹０-９]|{_BYTE}(?:d9{_BYTE}a|db{_BYTE}b|ef{_BYTE}bc{_BYTE}9)[0-9]"


class Candidate(NamedTuple):
    """A row of `sql.LINKS_WITH`."""

    id: UUID
    company_id: int
    country: str
    target: str


def find_rows_and_links(cursor: CursorWrapper, person: Person, *, until: Any = None) -> Rows:
    """`find_rows`, with the links that name the person, whomever they were sent to."""
    rows = find_rows(cursor, person, until=until)
    found = candidates(cursor, person, until)
    links = [one for one in found if names(one.target, person.phone, one.country)]
    return replace(
        rows,
        links=sorted({*rows.links, *(link.id for link in links)}),
        companies=sorted({*rows.companies, *(link.company_id for link in links)}),
    )


def candidates(cursor: CursorWrapper, person: Person, until: Any) -> list[Candidate]:
    pattern = "|".join([*map(_pattern, _tails(person.phone)), _OTHER_SCRIPTS])
    cursor.execute(sql.LINKS_WITH, person.params | {"pattern": pattern, "until": until})
    return fetch_all(cursor, Candidate)


def names(text: str, phone: str, country: str) -> bool:
    tails = tuple(_tails(phone))
    digits = {one for one in numbers_in(text) if one.endswith(tails)}
    return phone in _read(digits, country)


def phones_in_links(until: datetime) -> Iterator[str]:
    """Whatever reads as a phone in links made by then: to compare with hashes of phones."""
    links = Link.objects.filter(created_at__lte=until).exclude(url=BLANK)
    columns = links.values_list("company__country", "url", "utm", "expired_url")
    for country, *targets in columns.iterator(chunk_size=2000):
        yield from _read(numbers_in(" ".join(targets)), country)


def _read(digits: Iterable[str], country: str) -> set[str]:
    """The phones that they may be, by the company's country or with a plus."""
    readings = (e164_or_none(plus + one, country) for one in digits for plus in ("", "+"))
    return {phone for phone in readings if phone}


def numbers_in(text: str) -> Iterator[str]:
    """Each group of digits with what may belong to it before: `/77/7/916/123-45-67`."""
    for groups in digit_groups_in(text):
        for end in range(len(groups)):
            digits, start = groups[end], end
            while len(digits) <= LONGEST:
                yield digits
                start -= 1
                if start < 0:
                    break
                digits = groups[start] + digits


def _tails(phone: str) -> set[str]:
    return {one.removeprefix("+")[-TAIL:] for one in spellings(phone)}


def _pattern(digits: str) -> str:
    return _BETWEEN.join(_DIGIT + digit for digit in digits)
