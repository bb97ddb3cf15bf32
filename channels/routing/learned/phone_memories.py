"""What is remembered of phones: rows under keyed hashes, as `channels.routing.smart` wants them."""

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime, timedelta

from django.utils import timezone
from django.utils.crypto import salted_hmac

from channels.models import RememberedPhone
from channels.routing.smart.phone_memory import EXPIRY, ChannelTrace, PhoneMemory

HASH_BYTES = 16
# proved, seconds to the code, refused, silent, silences since, barred
Stored = list[float | None]
BATCH = 1000  # rows


def hash_of(phone: str) -> bytes:
    """128 bits under SECRET_KEY, so that a copy of the table alone names nobody."""
    digest: bytes = salted_hmac("channels.remembered_phone", phone, algorithm="sha256").digest()
    return digest[:HASH_BYTES]


def load(phone: str) -> PhoneMemory:
    """One read of one row, by its key."""
    row = RememberedPhone.objects.filter(pk=hash_of(phone)).values_list("traces", flat=True).first()
    return _memory(row or {})


def load_many(phones: Iterable[str]) -> dict[str, PhoneMemory]:
    by_hash = {hash_of(phone): phone for phone in phones}
    rows = RememberedPhone.objects.filter(pk__in=list(by_hash)).values_list("pk", "traces")
    known = {by_hash[bytes(key)]: _memory(traces) for key, traces in rows}
    return {phone: known.get(phone) or PhoneMemory() for phone in by_hash.values()}


def save_many(memories: Mapping[str, PhoneMemory], now: float) -> None:
    """In the order of their hashes, as by whoever else writes several."""
    rows = [
        RememberedPhone(phone_hash=hash_of(phone), traces=_stored(memory), seen_at=_time(now))
        for phone, memory in memories.items()
        if memory.channels
    ]
    rows.sort(key=lambda row: bytes(row.phone_hash))
    RememberedPhone.objects.bulk_create(
        rows,
        batch_size=BATCH,
        update_conflicts=True,
        unique_fields=["phone_hash"],
        update_fields=["traces", "seen_at"],
    )


def forget(phone: str) -> int:
    count, _each = RememberedPhone.objects.filter(pk=hash_of(phone)).delete()
    return count


def purge(limit: int) -> int:
    long_ago = timezone.now() - timedelta(seconds=EXPIRY)
    old = RememberedPhone.objects.filter(seen_at__lt=long_ago).order_by("pk").values("pk")[:limit]
    # Once more the time: a row may have been renewed since it was chosen.
    count, _each = RememberedPhone.objects.filter(pk__in=old, seen_at__lt=long_ago).delete()
    return count


def _memory(traces: Mapping[str, Stored]) -> PhoneMemory:
    return PhoneMemory({name: _trace(stored) for name, stored in traces.items()})


def _trace(stored: Stored) -> ChannelTrace:
    proved, seconds, refused, silent, silences, barred = stored
    return ChannelTrace(proved, seconds, refused, silent, int(silences or 0), barred)


def _stored(memory: PhoneMemory) -> dict[str, Stored]:
    return {
        name: [
            _whole(one.proved_at),
            _whole(one.seconds_to_code),
            _whole(one.refused_at),
            _whole(one.silent_at),
            one.silences,
            _whole(one.barred_at),
        ]
        for name, one in memory.channels.items()
    }


def _whole(value: float | None) -> float | None:
    return None if value is None else round(value)


def _time(seconds: float) -> datetime:
    return datetime.fromtimestamp(seconds, UTC)
