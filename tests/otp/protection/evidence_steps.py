"""Attacks, and the evidence that the guard counts from them."""

from datetime import timedelta

from django.utils import timezone

from accounts.models import Company
from otp.models import GuardEvidence, GuardProgress
from tests.otp.protection.sends import sent


def begin(ago: float = 300.0) -> None:
    """Starts the count `ago` seconds back."""
    until = timezone.now() - timedelta(seconds=ago)
    GuardProgress.objects.all().delete()
    GuardProgress.objects.create(pk=1, counted_until=until)


def evidence(company: Company, kind: str, value: str) -> tuple[int, int]:
    """Returns correct and missed codes of a scope, undiscounted within a minute or two."""
    row = GuardEvidence.objects.get(company=company, kind=kind, value=value)
    hits = round(row.norm_hits)
    return hits, round(row.norm_trials) - hits


def attack(company: Company, codes: int = 20, **fields: object) -> None:
    for n in range(codes):
        sent(company, ago=200 - n, phone=f"+252617654{n:03}", **fields)  # type: ignore[arg-type]
