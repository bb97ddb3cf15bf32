"""Sums of archived months that somebody has changed, deleted or invented."""

from collections.abc import Callable
from datetime import date, timedelta
from typing import Any

import pytest
from django.db.models import F

from billing.models import ArchivedMonth, ArchivedSum
from billing.seals import proof
from tests.api.clients import Api
from tests.factories import CompanyFactory
from tests.operator_admin.archive.commands import breaches, take_out

pytestmark = pytest.mark.django_db


@pytest.fixture
def archived(history: Api, month: date) -> Api:
    """An archive of three messages: one charged, two released."""
    take_out(month)
    assert breaches() == []
    return history


def of(kind: str) -> Any:
    return ArchivedSum.objects.filter(kind=kind)


def invent(**fields: Any) -> ArchivedSum:
    row = ArchivedSum.objects.earliest("id")
    values = {"company_id": row.company_id, "month_id": row.month_id, "last_at": row.last_at}
    return ArchivedSum.objects.create(**values | {"transfers": 1, "tokens": 5} | fields)


CHANGES: dict[str, Callable[[], object]] = {
    "charge lowered": lambda: of("capture").update(tokens=F("tokens") - 1),
    "hold raised": lambda: of("hold").update(tokens=F("tokens") + 1),
    "release lowered": lambda: of("release").update(tokens=F("tokens") - 1),
    "charge raised beside its hold": lambda: (
        of("capture").update(tokens=F("tokens") + 1),
        of("hold").update(tokens=F("tokens") + 1),
    ),
    "number": lambda: of("capture").update(transfers=F("transfers") + 1),
    "number moved to holds": lambda: (
        of("capture").update(transfers=0),
        of("hold").update(transfers=F("transfers") + 1),
    ),
    "day": lambda: ArchivedSum.objects.update(last_at=F("last_at") + timedelta(days=1)),
    "kind": lambda: of("release").update(kind="grant"),
    "charge deleted": lambda: of("capture").delete(),
    "all deleted": lambda: ArchivedSum.objects.all().delete(),
    "grant invented": lambda: invent(kind="grant"),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES.keys())
def test_changed_sum_is_found(archived: Api, month: date, change: Callable[[], object]) -> None:
    change()

    subject = f"company {archived.company.pk} in {month:%Y-%m}"
    assert f"{proof.SUM_DIFFERS}: {subject}" in breaches()


def test_sum_of_company_without_seals_is_found(archived: Api, month: date) -> None:
    other = CompanyFactory.create()
    invent(company_id=other.pk, kind="capture")

    assert f"{proof.SUM_DIFFERS}: company {other.pk} in {month:%Y-%m}" in breaches()


def test_sum_of_a_month_that_was_never_archived_is_found(archived: Api, month: date) -> None:
    earlier = ArchivedMonth.objects.create(month=month - timedelta(days=60))
    invent(month_id=earlier.pk, kind="capture")

    subject = f"company {archived.company.pk} in {earlier.month:%Y-%m}"
    assert f"{proof.SUM_DIFFERS}: {subject}" in breaches()


def test_archived_month_with_transfers_is_found(history: Api, month: date) -> None:
    assert breaches() == []
    ArchivedMonth.objects.create(month=month)

    result = [text.partition(":")[0] for text in breaches()]

    assert result == [proof.SUM_DIFFERS, proof.ARCHIVED_BUT_PRESENT]
