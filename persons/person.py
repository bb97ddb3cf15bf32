"""One person: a phone, in what one company or all of them keep about it."""

import re
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

from django.conf import settings
from django.db import connection
from django.db.backends.utils import CursorWrapper

from channels.phone_numbers import digits_of, e164_or_none, spellings
from channels.routing.learned import phone_memories
from config.storage.statements.named_rows import fetch_all
from persons import sql


@dataclass(frozen=True, slots=True)
class Person:
    phone: str  # E.164
    company_id: int | None = None  # None: of all companies, and what the service itself keeps
    mode: str = ""  # empty: live and test

    @property
    def is_everywhere(self) -> bool:
        return self.company_id is None

    @property
    def anonymised(self) -> str:
        """What stays of the phone for statistics, as after its retention time."""
        return f"{self.phone[:5]}*"

    @property
    def params(self) -> dict[str, Any]:
        return {
            **spelled(self.phone),
            "spellings": list(spellings(self.phone)),
            "phone_hashes": [
                one for phone in spellings(self.phone) for one in phone_memories.hashes_of(phone)
            ],
            "anonymised": self.anonymised,
            "company_id": self.company_id,
            "mode": self.mode,
        }


def spelled(phone: str) -> dict[str, Any]:
    """The parameters of a statement for which `sql.names_phone`."""
    return {"phone": phone, "digits": phone.removeprefix("+")}


class _Message(NamedTuple):
    """A row of `sql.MESSAGES`."""

    id: UUID
    company_id: int
    kind: str
    subject_id: UUID
    link_id: UUID | None


@dataclass(frozen=True, slots=True)
class Rows:
    """The ids of a person's rows; every statement about the person takes them from here."""

    messages: list[UUID]
    verifications: list[UUID]
    links: list[UUID]
    attempts: list[UUID]
    companies: list[int]

    @property
    def params(self) -> dict[str, Any]:
        keys = [f"msg_{one.hex}" for one in self.messages]
        keys += [f"otp_{one.hex}" for one in self.verifications]
        return {
            "messages": self.messages,
            "verifications": self.verifications,
            "links": self.links,
            "attempts": self.attempts,
            "companies": self.companies,
            "event_keys": keys,
            "link_ids": [f"lnk_{one.hex}" for one in self.links],
        }


def find_rows(cursor: CursorWrapper, person: Person, *, until: Any = None) -> Rows:
    """Everything hangs on the messages: codes and links went out in them. `until`: those made by
    then alone.
    """
    cursor.execute(sql.MESSAGES, person.params | {"until": until})
    found = fetch_all(cursor, _Message)
    messages = [one.id for one in found]
    cursor.execute(sql.ATTEMPTS, [messages])
    attempts = [attempt_id for (attempt_id,) in cursor.fetchall()]
    links = [one.subject_id if one.kind == "link" else one.link_id for one in found]
    return Rows(
        messages=messages,
        verifications=sorted({one.subject_id for one in found if one.kind == "code"}),
        links=sorted(link for link in links if link),
        attempts=attempts,
        companies=sorted({one.company_id for one in found}),
    )


def lift_timeout(cursor: CursorWrapper) -> None:
    """For this transaction: receipts and e-mails of a month may have to be searched."""
    if connection.in_atomic_block:
        cursor.execute("SET LOCAL statement_timeout = '10min'")


def parse_phone(text: str) -> str | None:
    """The phone as typed by the operator; also one that is no longer sent to."""
    typed = digits_of(text)
    return e164_or_none(text, settings.OPERATOR_COUNTRY) or (
        typed if re.fullmatch(r"\+[0-9]{5,15}", typed) else None
    )
