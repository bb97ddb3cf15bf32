"""The cabinet's page “Change one line”: the lines to change in a program to use a dialect.

A dialect has them in files, `snippets/<language>.txt`, with the variables `{{ address }}`,
`{{ key }}`, `{{ phone }}` and its own identifiers.
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import NamedTuple

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.models import ApiKey, Mode
from accounts.people.cabinet_access import CabinetRequest, can_read_technical_pages, member_required
from compat.dialect import Dialect, dialects

TITLES = {
    "python": "Python",
    "node": "Node.js",
    "php": "PHP",
    "go": "Go",
    "java": "Java",
    "csharp": "C#",
    "ruby": "Ruby",
    "curl": "curl",
}
KEY_PLACEHOLDER = "YOUR_KEY"
APPLICATION_PLACEHOLDER = "YOUR_APPLICATION_ID"  # only a key with a public key has an application
TEST_PHONE = "+79990000000"
PHONE_PLACEHOLDER = "YOUR_PHONE"  # for a live key, which sends to real people
FIRST_DIALECT = "twilio"  # the most used one
_VARIABLE = re.compile(r"\{\{ (\w+) \}\}")


class Snippet(NamedTuple):
    id: str  # of the HTML element
    title: str
    code: str


class DialectLines(NamedTuple):
    """The lines that a page shows for one dialect and one key."""

    dialect: Dialect
    address: str
    identifiers: Mapping[str, str]
    snippets: list[Snippet]


def lines_for(key: ApiKey, plaintext: str) -> list[DialectLines]:
    """The lines for every dialect; without `plaintext` they have a placeholder for the key.

    The plaintext of a key is known only when the key is made.
    """
    ordered = sorted(dialects().values(), key=lambda item: (item.name != FIRST_DIALECT, item.name))
    return [_dialect_lines(dialect, key, plaintext or KEY_PLACEHOLDER) for dialect in ordered]


def _dialect_lines(dialect: Dialect, key: ApiKey, plaintext: str) -> DialectLines:
    address = f"{settings.PUBLIC_URL}{dialect.path}"
    identifiers = dialect.identifiers(key.company_id, key.mode, key.purpose)
    phone = TEST_PHONE if key.mode == Mode.TEST else PHONE_PLACEHOLDER
    values = {
        "address": address,
        "host": address.partition("://")[2],
        "key": plaintext,
        "application_id": key.application_id if key.public_key else APPLICATION_PLACEHOLDER,
        "phone": phone,
        "digits": phone.removeprefix("+"),
        **identifiers,
    }
    snippets = [
        Snippet(
            f"{dialect.name}-{name}",
            TITLES[name],
            _VARIABLE.sub(lambda match: values[match[1]], text),
        )
        for name, text in _files(dialect.name)
    ]
    return DialectLines(dialect, address, identifiers, snippets)


@cache
def _files(dialect: str) -> list[tuple[str, str]]:
    folder = Path(__file__).parent / dialect / "snippets"
    files = {path.stem: path.read_text(encoding="utf-8").strip() for path in folder.glob("*.txt")}
    return [(name, files[name]) for name in TITLES if name in files]


@member_required(can_read_technical_pages)
def client_lines(request: CabinetRequest) -> HttpResponse:
    """The page for the key in the query string, or for the newest key."""
    keys = list(request.company.api_keys.active().exclude(purpose=""))
    key_choice = request.GET.get("key", "")
    key_shown = next((key for key in keys if str(key.pk) == key_choice), next(iter(keys), None))
    page = {
        "keys": keys,
        "chosen": key_shown,
        "lines": lines_for(key_shown, "") if key_shown else [],
    }
    return render(request, "cabinet/client_lines.html", page)
