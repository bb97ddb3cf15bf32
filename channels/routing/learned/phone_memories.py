"""The memories of phones for `channels.routing.smart`: rows under keyed hashes."""

from collections.abc import Iterable, Mapping
from dataclasses import astuple
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from typing import Any

from django.conf import settings
from django.db.models import Q
from django.utils import timezone
from django.utils.crypto import salted_hmac

from channels.models import RememberedPhone
from channels.routing.smart.reach import EXPIRY, ChannelTrace, PhoneMemory

HASH_BYTES = 16
Stored = list[Any]  # the fields of `ChannelTrace`
BATCH_SIZE = 1000  # rows


def hashes_of(phone: str) -> list[bytes]:
    """The phone's hashes of 128 bits: under SECRET_KEY, then under the keys of a key rotation.

    They are keyed so that a mere copy of the table identifies nobody.
    """
    return [_hash(phone, key) for key in _keys()]


def _keys() -> list[str]:
    return [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]


def _hash(phone: str, key: str) -> bytes:
    salted = salted_hmac("channels.remembered_phone", phone, secret=key, algorithm="sha256")
    return bytes(salted.digest()[:HASH_BYTES])


def _key_id(key: str) -> str:
    """A short id of a key that reveals nothing about it."""
    return str(salted_hmac("channels.remembered_phone.key", "", secret=key).hexdigest()[:8])


def load(phone: str) -> PhoneMemory:
    """Loads a memory by primary key."""
    return load_many([phone])[phone]


def load_many(phones: Iterable[str]) -> dict[str, PhoneMemory]:
    by_phone = {phone: hashes_of(phone) for phone in phones}
    hashes_to_load = [key for hashes in by_phone.values() for key in hashes]
    rows = RememberedPhone.objects.filter(pk__in=hashes_to_load).values_list("pk", "traces")
    memories = {bytes(key): _memory(traces) for key, traces in rows}
    return {
        phone: next((memories[key] for key in hashes if key in memories), None) or PhoneMemory()
        for phone, hashes in by_phone.items()
    }


def save_many(memories: Mapping[str, PhoneMemory], now: float) -> None:
    """Saves memories in the order of their hashes, like all code that writes several."""
    key = settings.SECRET_KEY
    common = {"key_id": _key_id(key), "seen_at": datetime.fromtimestamp(now, UTC)}
    rows = [
        RememberedPhone(phone_hash=_hash(phone, key), traces=_stored_form(memory), **common)
        for phone, memory in memories.items()
        if memory.channels
    ]
    rows.sort(key=lambda row: bytes(row.phone_hash))
    RememberedPhone.objects.bulk_create(
        rows,
        batch_size=BATCH_SIZE,
        update_conflicts=True,
        unique_fields=["phone_hash"],
        update_fields=["key_id", "traces", "seen_at"],
    )


def forget(phone: str) -> int:
    count, _each = RememberedPhone.objects.filter(pk__in=hashes_of(phone)).delete()
    return count


def purge(limit: int) -> int:
    long_ago = timezone.now() - timedelta(seconds=EXPIRY)
    old = RememberedPhone.objects.filter(seen_at__lt=long_ago).order_by("pk").values("pk")[:limit]
    # Checks the time again: a row may have been renewed since it was chosen.
    count, _each = RememberedPhone.objects.filter(pk__in=old, seen_at__lt=long_ago).delete()
    return count + _purge_unknown(limit - count)


def _purge_unknown(limit: int) -> int:
    """Deletes rows hashed with a lost key, which no erasure could find."""
    key_ids = sorted(_key_id(key) for key in _keys())
    # Uses ranges, because no index serves `<>`.
    unknown = Q(key_id__lt=key_ids[0]) | Q(key_id__gt=key_ids[-1])
    for key_id, following in pairwise(key_ids):
        unknown |= Q(key_id__gt=key_id, key_id__lt=following)
    rows = RememberedPhone.objects.filter(unknown).values("pk")[: max(0, limit)]
    return RememberedPhone.objects.filter(pk__in=rows).delete()[0]


def _memory(traces: Mapping[str, Stored]) -> PhoneMemory:
    return PhoneMemory({name: ChannelTrace(*stored) for name, stored in traces.items()})


def _stored_form(memory: PhoneMemory) -> dict[str, Stored]:
    """The stored form, in whole seconds."""
    return {
        name: [None if value is None else round(value) for value in astuple(trace)]
        for name, trace in memory.channels.items()
    }
