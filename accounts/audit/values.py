"""Old and new values of changed fields, as audit events keep them."""

import re
from collections.abc import Iterable, Mapping
from typing import Any

from accounts.masked_phones import mask_phone, mask_phones_in

# Of what these names hold, an event says that it changed, and nothing else.
SECRET = re.compile(r"secret|password|token|credential|digest|private", re.IGNORECASE)
HIDDEN = "•••"
LONGEST = 500  # characters of a text
PHONE = re.compile(r"\+\d{8,15}")
ADDRESS = re.compile("://|=")  # a URL, or tags of one
Changes = dict[str, list[Any]]


def changes_of(stored: object, new: Mapping[str, object]) -> Changes:
    """Field → [old, new] of those that differ; of a mapping, its keys: `patience_sms`."""
    found: Changes = {}
    for name, value in new.items():
        old = getattr(stored, name)
        if old == value:
            continue
        if isinstance(value, Mapping):
            keys = dict.fromkeys([*old, *value])
            pairs = {f"{name}_{key}": (old.get(key), value.get(key)) for key in keys}
        else:
            pairs = {name: (old, value)}
        found |= {key: _kept(key, pair) for key, pair in pairs.items() if pair[0] != pair[1]}
    return found


def changes_between(old: Mapping[str, object], new: Mapping[str, object]) -> Changes:
    return {
        name: _kept(name, (old.get(name), new.get(name)))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    }


def _kept(name: str, values: Iterable[object]) -> list[Any]:
    if SECRET.search(name):
        return [HIDDEN, HIDDEN]
    return [_plain(value) for value in values]


def _plain(value: object) -> Any:
    """As JSON keeps it."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(one) for one in value]
    text = str(value)
    if ADDRESS.search(text):
        return mask_phones_in(text)[:LONGEST]
    return PHONE.sub(lambda found: mask_phone(found[0]), text)[:LONGEST]
