"""A trial gives two companies the same work; the database then refuses a row of the first one."""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone

from accounts.models import Company
from billing.models import Wallet
from tests.factories import MemberFactory, WalletFactory

Work = Callable[[Company], object]
OF_COMPANY = "NEW.company_id = {company}"


@dataclass(frozen=True)
class Trial:
    task: str
    job: str
    prepare: Work  # what is due for one company
    is_done: Callable[[Company], bool]
    table: str  # where a row of the first company is refused
    rows: str = OF_COMPANY
    begin: Callable[[], object] = lambda: None  # once both have their work
    age: Callable[[], object] = lambda: None  # so that the work itself is due again
    is_stream: bool = False  # what failed is lost, and the next run has other work


def ago(**time: float) -> datetime:
    return timezone.now() - timedelta(**time)


def owner_of(company: Company) -> Any:
    member = company.members.first()
    return member or MemberFactory.create(company=company)


def wallet_of(company: Company, available: int = 10, **fields: Any) -> Wallet:
    Wallet.objects.filter(company=company).delete()
    row: Wallet = WalletFactory.create(company=company, available=available, **fields)
    return row
