"""Seals follow only from the transfers: regardless of writer, time and repetition."""

import hashlib
import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import DatabaseError, connection, transaction
from django.utils import timezone

from accounts.models import Company
from billing.models import Seal, SealedDay, Transfer
from billing.seals import proof, sealing
from billing.seals.hashes import days_of
from catalogue.ids import public_id
from tests.api.races import at_once
from tests.billing.seals.books import FIRST, LAST, at, book, busy_company, by_force, day, message
from tests.factories import CompanyFactory

pytestmark = pytest.mark.django_db
SIGNS = {
    "top_up": (1, 0),
    "grant": (1, 0),
    "withdraw": (-1, 0),
    "hold": (-1, 1),
    "capture": (0, -1),
    "release": (1, -1),
}


@pytest.fixture
def company() -> Company:
    return busy_company()


def sealed() -> list[tuple[Any, ...]]:
    rows = Seal.objects.order_by("company_id", "day")
    fields = ("company_id", "day", "parts", "transfers", "available", "held", "head")
    days = SealedDay.objects.order_by("day")
    return [*rows.values_list(*fields), *days.values_list("day", "companies", "head")]


def expected_heads(company: Company) -> dict[Any, str]:
    """Computes the heads in another way, which the documentation shows to clients."""
    head = "0" * 64
    heads = {}
    by_day = dict[Any, list[Transfer]]()
    for row in Transfer.objects.filter(company=company).order_by("created_at", "id"):
        by_day.setdefault(row.created_at.astimezone(UTC).date(), []).append(row)
    by_day.pop(timezone.now().astimezone(UTC).date())
    for each, rows in by_day.items():
        text = f"{head}\n{each}\n"
        for month in sorted({month_of(row) for row in rows}):
            part = [row for row in rows if month_of(row) == month]
            lines = "".join(f"{line(row)}\n" for row in part)
            sums = [sum(SIGNS[row.kind][n] * row.amount for row in part) for n in (0, 1)]
            digest = hashlib.sha256(lines.encode()).hexdigest()
            text += json.dumps([month, len(part), *sums, digest]) + "\n"
        head = hashlib.sha256(text.encode()).hexdigest()
        heads[each] = head
    return heads


def month_of(row: Transfer) -> str:
    if row.message_id is None:
        return ""
    return f"{datetime.fromtimestamp(row.message_id.int // 2**80 / 1000, UTC):%Y-%m}"


def line(row: Transfer) -> str:
    values = [
        row.pk,
        f"{row.created_at.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z",
        row.kind,
        row.amount,
        public_id("msg", row.message_id) if row.message_id else "",
        row.hold,
        row.proof,
        row.key or "",
        row.reason,
    ]
    return json.dumps(values, ensure_ascii=False)


def test_each_day_with_transfers_has_a_seal(company: Company) -> None:
    assert sealing.seal() == 7

    seals = {seal.day: seal.head for seal in Seal.objects.filter(company=company)}
    assert seals == expected_heads(company)
    last = Seal.objects.order_by("day").last()
    assert last is not None
    assert (last.transfers, last.available, last.held) == (18, 479, 0)


def test_days_without_transfers_count_as_sealed(company: Company) -> None:
    sealing.seal()

    days = list(SealedDay.objects.order_by("day").values_list("day", flat=True))
    assert days[0] == FIRST
    assert days == [FIRST + timedelta(days=n) for n in range(len(days))]
    assert days[-1] >= timezone.now().astimezone(UTC).date() - timedelta(days=2)


def test_today_stays_open(company: Company) -> None:
    sealing.seal()

    assert Seal.objects.filter(day__gt=LAST).exists() is False
    assert sealing.seal() == 0


def test_day_by_day_gives_the_same_seals_as_all_at_once(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    busy_company()
    sealing.seal()
    at_a_time = sealed()
    by_force("DELETE FROM billing_seal; DELETE FROM billing_sealedday", [])
    monkeypatch.setattr(sealing, "BATCH_TRANSFERS", 1)
    monkeypatch.setattr(sealing, "BATCH_DAYS", 1)
    for number in range(66):
        sealing.seal_before(day(number))

    sealing.seal()

    assert sealed() == at_a_time


def test_lines_read_in_small_chunks_make_the_same_parts(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    for _ in range(5):
        book(company, at(1), "grant", 1)  # at one moment
    whole = list(days_of(company.pk, FIRST, LAST))
    monkeypatch.setattr("billing.seals.hashes.BATCH_SIZE", 2)

    assert list(days_of(company.pk, FIRST, LAST)) == whole


def test_seals_are_immutable(company: Company) -> None:
    sealing.seal()

    for change in (
        Seal.objects.all().delete,
        SealedDay.objects.all().delete,
        lambda: Seal.objects.update(head="0" * 64),
        lambda: SealedDay.objects.update(head="0" * 64),
    ):
        with pytest.raises(DatabaseError, match="immutable"), transaction.atomic():
            change()


def test_charge_in_another_month_is_sealed_separately() -> None:
    company = CompanyFactory.create()
    turn = next(n for n in range(40) if day(n).day == 1)
    charged_late = message(at(turn - 1))
    book(company, at(turn - 1), "hold", 2, message_id=charged_late)
    book(company, at(turn), "capture", 2, message_id=charged_late, proof="receipt")
    book(company, at(turn), "hold", 5, message_id=message(at(turn)))
    sealing.seal()

    before, after = f"{day(turn - 1):%Y-%m}", f"{day(turn):%Y-%m}"

    parts = proof.sealed_parts([before])

    assert {key: (part.transfers, part.available, part.held) for key, part in parts.items()} == {
        (company.pk, day(turn - 1), before): (1, -2, 2),
        (company.pk, day(turn), before): (1, 0, -2),
    }
    assert [part.held for part in proof.sealed_parts([after]).values()] == [5]
    assert proof.sealed_parts([before, after]) == proof.parts_of_transfers()


@pytest.mark.django_db(transaction=True)
def test_parallel_sealers_write_each_seal_once(company: Company) -> None:
    busy_company()

    written = at_once([sealing.seal, sealing.seal, sealing.seal])

    assert sum(written) <= 14
    sealing.seal()
    seals = {seal.day: seal.head for seal in Seal.objects.filter(company=company)}
    assert seals == expected_heads(company)
    assert Seal.objects.count() == 14


_SLOWLY = """
import django; django.setup()
from billing.seals import sealing
sealing.BATCH_TRANSFERS = sealing.BATCH_DAYS = 1
print("ready", flush=True)
sealing.seal()
"""


@pytest.mark.django_db(transaction=True)
def test_sealing_after_kill_gives_same_seals(company: Company) -> None:
    busy_company()
    environ = os.environ | {"DATABASE_URL": _url(), "DJANGO_SETTINGS_MODULE": "config.settings"}
    for milliseconds in (5, 30, 60):
        sealer = subprocess.Popen(
            [sys.executable, "-c", _SLOWLY], env=environ, stdout=subprocess.PIPE, text=True
        )
        assert sealer.stdout is not None
        sealer.stdout.readline()
        with suppress(subprocess.TimeoutExpired):
            sealer.wait(milliseconds / 1000)
        sealer.send_signal(signal.SIGKILL)
        sealer.communicate()

    sealing.seal()

    seals = {seal.day: seal.head for seal in Seal.objects.filter(company=company)}
    assert seals == expected_heads(company)
    assert Seal.objects.count() == 14


def _url() -> str:
    settings = connection.settings_dict
    return f"postgresql://{settings['USER']}@/{settings['NAME']}?host={settings['HOST']}"
