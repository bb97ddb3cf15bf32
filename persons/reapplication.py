"""Erases again what a restored backup brought back."""

from dataclasses import dataclass

from django.db import connection, transaction

from persons.erasure import NotFinishedError, erase
from persons.erasure_list import find_erased, missing_keys
from persons.person import lift_timeout


@dataclass(frozen=True, slots=True)
class Reapplied:
    erased: int  # persons
    unfinished: int  # persons with messages that are open again: apply once more after these end
    unknown: int  # entries whose key is no longer in WEBHOOK_KEYS


def reapply_erasures() -> Reapplied:
    """To be called after each restore, once the list itself is complete again; safe to repeat.

    Messages made after an erasure stay: the person has come back.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            lift_timeout(cursor)
        found = list(find_erased())
    erased = unfinished = 0
    for person, erased_at in found:
        try:
            counts = erase(person=person, until=erased_at)
            erased += any(counts.values())
        except NotFinishedError:
            unfinished += 1
    return Reapplied(erased, unfinished, missing_keys())
