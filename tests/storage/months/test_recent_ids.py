"""Which months the lookups by another column than the partition key open."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from django.utils import timezone

from catalogue.ids import first_id_at
from channels.deliver import claims, sweeps
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Message
from channels.outcomes import transitions
from channels.vendor_accounts import availability
from otp.check import settlement
from storage.months import recent_ids
from tests.api.clients import Api
from tests.channels.message_stages import PHONE
from tests.otp.sent_codes import code_of
from tests.sql import execute


def uuid_at(month: int, day: int = 1, year: int = 2026) -> UUID:
    return first_id_at(datetime(year, month, day, tzinfo=UTC))


def at(month: int, day: int = 1, year: int = 2026) -> int:
    return uuid_at(month, day, year).int


@pytest.mark.parametrize(
    ("today", "days", "first", "end"),
    [
        ((11, 15), 3, at(11), at(12)),
        ((11, 4), 3, at(11), at(12)),
        ((11, 3), 3, at(10), at(12)),  # codes of the month before may live
        ((11, 26), 3, at(11), at(12)),
        ((11, 27), 3, at(11), at(1, year=2027)),  # another process' clock may be days ahead
        ((1, 1), 3, at(12, year=2025), at(2)),
        ((12, 31), 3, at(12), at(2, year=2027)),
        ((11, 15), 100, at(8), at(12)),
    ],
)
def test_range_has_whole_months(
    monkeypatch: pytest.MonkeyPatch, today: tuple[int, int], days: int, first: int, end: int
) -> None:
    month, day = today
    at_noon = datetime(2026, month, day, 12, tzinfo=UTC).timestamp()
    monkeypatch.setattr(time, "time", lambda: at_noon)

    months = recent_ids.months_of_last(days)

    result = recent_ids.ids_of(months)
    assert (result.first_id.int, result.last_id.int) == (first, end - 1)
    assert [first_id_at(time).int for time in months] == [first, end]


def test_months_of_ids_are_those_they_were_made_in() -> None:
    made = [uuid_at(12, 31, 2025), uuid_at(1, 1), uuid_at(2, 28)]

    assert recent_ids.months_of(made) == (
        datetime(2025, 12, 1, tzinfo=UTC),
        datetime(2026, 3, 1, tzinfo=UTC),
    )
    assert recent_ids.months_of(made[1:2]) == (
        datetime(2026, 1, 1, tzinfo=UTC),
        datetime(2026, 2, 1, tzinfo=UTC),
    )


def months_read() -> dict[str, int]:
    """The number of reads of each month of a table by this transaction."""
    rows = execute(
        """SELECT relname, COALESCE(idx_scan, 0) + COALESCE(seq_scan, 0)
           FROM pg_stat_xact_user_tables WHERE relname ~ '_\\d{4}_\\d\\d$'"""
    )
    return dict(rows)


class ServiceReads:
    """The months that the service looks into, without those of the test's own queries."""

    def __init__(self) -> None:
        self.months: set[str] = set()

    @contextmanager
    def watched(self) -> Iterator[None]:
        before = months_read()
        yield
        self.months |= {
            name for name, times in months_read().items() if times > before.get(name, 0)
        }


@pytest.mark.django_db
def test_code_from_send_to_charge_opens_only_this_month(
    api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = timezone.now().astimezone(UTC)
    in_mid_month = int(now.replace(day=15).timestamp()) // 86_400
    monkeypatch.setattr(recent_ids, "_day", lambda: in_mid_month)
    reads = ServiceReads()

    with reads.watched():
        sent = api.post("/otp/send", {"phone": PHONE})
    Message.objects.update(due_at=now - timedelta(minutes=1))  # as in a later transaction
    availability.reset()
    code = code_of(PHONE)
    with reads.watched():
        (claimed,) = claims.claim(1)
        transitions.commit_events(
            [Event(claimed.message_id, claimed.attempt_id, EventKind.ACCEPTED, provider_id="1")]
        )
        verified = api.post("/otp/verify", {"phone": PHONE, "code": code})
        assert settlement.settle_verified() == 1
        sweeps.sweep()

    assert (sent.status, verified.status) == (200, 200)
    assert {name.partition("_20")[0] for name in reads.months} >= {
        "otp_verification",
        "channels_message",
        "channels_attempt",
    }
    assert {name[-8:] for name in reads.months} == {f"_{now:%Y_%m}"}
