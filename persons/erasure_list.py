"""The list of erasures, by which data that a backup restores is erased again.

A phone has too few digits for a plain hash, so the hash is keyed, by the longest-lived keys.
"""

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable, Iterator
from datetime import datetime
from itertools import product
from typing import Any

import orjson
from django.conf import settings
from django.db import DataError, IntegrityError, ProgrammingError, transaction

from channels.phone_numbers import e164_or_none, spellings
from persons.models import Erasure
from persons.person import Person, phones_in_links
from storage.statements import sql_files
from storage.statements.queries import execute, fetch_column
from webhooks import signing

_SQL = sql_files.read_several("persons/erasure_list.sql")


def add(person: Person) -> None:
    key_id = signing.current_key_id()
    values: dict[str, Any] = {"company_id": person.company_id, "mode": person.mode}
    values |= {"key_id": key_id, "phone_hash": phone_hash(person.phone, key_id), "erased_at": None}
    execute(_SQL["add"], values)


def phone_hash(phone: str, key_id: str) -> bytes:
    key = hmac.digest(settings.WEBHOOK_KEYS[key_id], b"erasures", hashlib.sha256)
    return hmac.digest(key, phone.encode(), hashlib.sha256)


def erasures_by_key() -> Counter[str]:
    return Counter(Erasure.objects.values_list("key_id", flat=True))


def dump() -> Iterator[str]:
    """The list as JSON lines, to be kept outside the database, which a restore resets."""
    columns = ("company_id", "mode", "key_id", "phone_hash", "erased_at")
    for row in Erasure.objects.order_by("id").values(*columns):
        values = row | {"phone_hash": bytes(row["phone_hash"]).hex()}
        yield orjson.dumps(values, option=orjson.OPT_UTC_Z).decode()


@transaction.atomic
def load(lines: Iterable[str]) -> int:
    """Adds a dumped list; returns the number of its lines. Raises ValueError for any other file."""
    count = 0
    try:
        for line in filter(str.strip, lines):
            values: dict[str, Any] = orjson.loads(line)
            execute(_SQL["add"], values | {"phone_hash": bytes.fromhex(values["phone_hash"])})
            count += 1
    except (KeyError, TypeError, DataError, IntegrityError, ProgrammingError) as error:
        raise ValueError(f"line {count + 1}: {error!r}") from None
    return count


def missing_keys() -> int:
    """The number of entries whose key is no longer in WEBHOOK_KEYS."""
    return Erasure.objects.exclude(key_id__in=settings.WEBHOOK_KEYS).count()


def find_erased() -> Iterator[tuple[Person, datetime]]:
    """Persons on the list who have rows again, with the time of their erasure."""
    rows = list(Erasure.objects.all())
    if not rows:
        return
    listed: dict[bytes, list[Erasure]] = {}
    for row in rows:
        listed.setdefault(bytes(row.phone_hash), []).append(row)
    keys = {row.key_id for row in rows} & settings.WEBHOOK_KEYS.keys()
    # The list may have another spelling of the phone than the restored rows.
    phones = {e164_or_none(phone, "") or phone for phone in _phones()}
    phones.update(phones_in_links(max(row.erased_at for row in rows)))
    for phone, key_id in product(phones, keys):
        for spelling in spellings(phone):
            for row in listed.get(phone_hash(spelling, key_id), ()):
                yield Person(phone, row.company_id, row.mode), row.erased_at


def _phones() -> list[str]:
    return fetch_column(_SQL["phones"])
