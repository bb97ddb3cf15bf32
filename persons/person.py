"""One person: a phone, and the rows about it of one company or of all.

Links may contain the phone in their target or alias, in any spelling. PostgreSQL reads every link
of the company for the last digits, 5 seconds for a million links, and the phone parser then decides
about the few that match.
"""

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from accounts.masked_phones import digit_groups_in
from channels.models import stored_fields
from channels.phone_numbers import digits_of, e164_or_none, spellings
from channels.routing.learned import phone_memories
from links.models import Link, LinkImportRow
from persons import sql
from storage.statements.named_rows import fetch_all
from webhooks.models import EventKind


@dataclass(frozen=True, slots=True)
class Person:
    phone: str  # E.164
    company_id: int | None = None  # None: all companies and the service itself
    mode: str = ""  # empty: both

    @property
    def is_everywhere(self) -> bool:
        return self.company_id is None

    @property
    def anonymised(self) -> str:
        """The prefix of the phone that is kept for statistics, as after the retention period."""
        return f"{self.phone[:5]}*"

    @property
    def params(self) -> dict[str, Any]:
        return {
            **phone_parameters(self.phone),
            "spellings": list(spellings(self.phone)),
            "whole_phones": [
                start + phone.removeprefix("+7" if start == "8" else "+")
                for phone in spellings(self.phone)
                for start in ("+", "", *(["8"] if phone.startswith("+7") else []))
            ],
            "phone_hashes": [
                key for phone in spellings(self.phone) for key in phone_memories.hashes_of(phone)
            ],
            "anonymised": self.anonymised,
            "company_id": self.company_id,
            "mode": self.mode,
        }


def phone_parameters(phone: str) -> dict[str, Any]:
    """The parameters for one spelling of the phone: see `sql.uses_phone`."""
    return {"phone": phone, "digits": phone.removeprefix("+")}


class _Message(NamedTuple):
    """A row of `messages` of `person.sql`."""

    id: UUID
    company_id: int
    kind: str
    subject_id: UUID
    link_id: UUID | None


@dataclass(frozen=True, slots=True)
class Rows:
    """The ids of a person's rows, which all statements about the person use."""

    messages: list[UUID]
    verifications: list[UUID]
    links: list[UUID]
    attempts: list[UUID]
    companies: list[int]
    aliases: list[UUID] = field(default_factory=list)  # links whose alias contains the phone
    unmade: list[int] = field(default_factory=list)  # rows of imports that go on

    @property
    def params(self) -> dict[str, Any]:
        keys = [f"msg_{key.hex}" for key in self.messages]
        keys += [f"otp_{key.hex}" for key in self.verifications]
        return {
            "messages": self.messages,
            "verifications": self.verifications,
            "links": self.links,
            "aliases": self.aliases,
            "unmade": self.unmade,
            "attempts": self.attempts,
            "companies": self.companies,
            "own_texts": [*stored_fields.NAMES, "metadata"],
            "event_kinds": EventKind.values,  # all kinds: the index begins with the kind
            "event_keys": keys,
            "link_ids": [f"lnk_{key.hex}" for key in self.links],
            "alias_ids": [f"lnk_{key.hex}" for key in self.aliases],
        }


def find_rows(cursor: CursorWrapper, person: Person, *, until: Any = None) -> Rows:
    """Finds a person's rows through the messages, in which all codes and links were sent.

    `until`: only messages created by then.
    """
    cursor.execute(sql.PERSON["messages"], person.params | {"until": until})
    rows = fetch_all(cursor, _Message)
    messages = [row.id for row in rows]
    cursor.execute(sql.PERSON["attempts"], [messages])
    attempts = [attempt_id for (attempt_id,) in cursor.fetchall()]
    links = [row.subject_id if row.kind == "link" else row.link_id for row in rows]
    return Rows(
        messages=messages,
        verifications=sorted({row.subject_id for row in rows if row.kind == "code"}),
        links=sorted(link for link in links if link),
        attempts=attempts,
        companies=sorted({row.company_id for row in rows}),
    )


def lift_timeout(cursor: CursorWrapper) -> None:
    """Lifts the timeout of this transaction, which may search receipts and e-mails of a month."""
    if connection.in_atomic_block:
        cursor.execute("SET LOCAL statement_timeout = '10min'")


def parse_phone(text: str) -> str | None:
    """The phone typed by the operator, even one in a format that is no longer sent to."""
    typed = digits_of(text)
    return e164_or_none(text, settings.OPERATOR_COUNTRY) or (
        typed if re.fullmatch(r"\+[0-9]{5,15}", typed) else None
    )


BLANK = "about:blank"
MAX_DIGITS = 17  # digits: fifteen of E.164 after 00
TAIL = 7  # last digits, which all spellings share
_BYTE = "%(?:25)*"  # percent-encoded, once or more
_DIGIT = f"(?:{_BYTE}3)?"
_BETWEEN = f"(?:[^0-9a-z%]|{_BYTE}[0-9a-f]{{2}})*"
# Arabic, Persian and full-width digits are left to the parser.
_OTHER_SCRIPTS = rf"[٠-٩۰-۹０-９]|{_BYTE}(?:d9{_BYTE}a|db{_BYTE}b|ef{_BYTE}bc{_BYTE}9)[0-9]"


class Candidate(NamedTuple):
    """A row of `links_with` or `unmade_links_with`: a link that may contain the phone."""

    id: Any
    company_id: int
    country: str
    alias: str
    text: str  # alias and targets


def find_rows_and_links(cursor: CursorWrapper, person: Person, *, until: Any = None) -> Rows:
    """The rows of `find_rows`, with links that contain the phone, even if sent to others."""
    rows = find_rows(cursor, person, until=until)
    links, unmade = (
        [
            row
            for row in candidates(cursor, person, until, statement)
            if contains_phone(row.text, person.phone, row.country)
        ]
        for statement in (sql.PERSON["links_with"], sql.PERSON["unmade_links_with"])
    )
    aliases = [row.id for row in links if contains_phone(row.alias, person.phone, row.country)]
    return replace(
        rows,
        links=sorted({*rows.links, *(link.id for link in links)}),
        companies=sorted({*rows.companies, *(link.company_id for link in (*links, *unmade))}),
        aliases=aliases,
        unmade=[row.id for row in unmade],
    )


def candidates(
    cursor: CursorWrapper, person: Person, until: Any, statement: str = sql.PERSON["links_with"]
) -> list[Candidate]:
    pattern = "|".join([*map(_pattern, _tails(person.phone)), _OTHER_SCRIPTS])
    cursor.execute(statement, person.params | {"pattern": pattern, "until": until})
    return fetch_all(cursor, Candidate)


def contains_phone(text: str, phone: str, country: str) -> bool:
    tails = tuple(_tails(phone))
    digits = {number for number in numbers_in(text) if number.endswith(tails)}
    return phone in _possible_phones(digits, country)


def phones_in_links(until: datetime) -> Iterator[str]:
    """Possible phones in links created by then, to compare with the hashes of erased phones."""
    links = Link.objects.filter(created_at__lte=until).exclude(url=BLANK)
    unmade = LinkImportRow.objects.unmade().filter(link_import__created_at__lte=until)
    for columns in (
        links.values_list("company__country", "url", "utm", "expired_url", "slug"),
        unmade.values_list("link_import__company__country", "url", "alias"),
    ):
        for country, *targets in columns.iterator(chunk_size=2000):
            yield from _possible_phones(numbers_in(" ".join(targets)), country)


def _possible_phones(digits: Iterable[str], country: str) -> set[str]:
    """The phones that the digits may be: national ones of the country, or international ones."""
    readings = (e164_or_none(plus + n, country) for n in digits for plus in ("", "+"))
    return {phone for phone in readings if phone}


def numbers_in(text: str) -> Iterator[str]:
    """Each group of digits, alone and with groups before it: `/77/7/916/123-45-67`."""
    for groups in digit_groups_in(text):
        for end in range(len(groups)):
            digits = groups[end]
            start = end
            while len(digits) <= MAX_DIGITS:
                yield digits
                start -= 1
                if start < 0:
                    break
                digits = groups[start] + digits


def _tails(phone: str) -> set[str]:
    return {spelling.removeprefix("+")[-TAIL:] for spelling in spellings(phone)}


def _pattern(digits: str) -> str:
    return _BETWEEN.join(_DIGIT + digit for digit in digits)
