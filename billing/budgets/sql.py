"""SQL fragments of the budgets for the ledger, and the usage of a budget.

The wallet's row counts the usage, so the UPDATE that pays also checks and advances it: exact under
races, and rolled back with the payment. The fragments expect the aliases `wallet`, a row of
billing_wallet, and `period`, the row of PERIOD.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from math import ceil
from typing import Any

from django.conf import settings

from catalogue.errors import DomainError, Error
from catalogue.texts import StrOrPromise
from storage.statements import sql_files

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """A budget and how much of it is used; `country` is empty for the day's budget."""

    country: str
    used: int
    tokens: int
    resets_at: datetime
    fixed_tokens: int | None = None  # set by an owner or the operator

    @property
    def left(self) -> int:
        return max(0, self.tokens - self.used)

    @property
    def percent(self) -> int:
        return min(100, self.used * 100 // self.tokens) if self.tokens else 100

    def used_up(
        self, message: StrOrPromise, limit: Mapping[str, str | int], now: datetime
    ) -> DomainError:
        """The error for a send that will fit after the reset."""
        return DomainError(
            Error.SEND_LIMIT,
            message=message,
            retry_after=max(1, ceil((self.resets_at - now).total_seconds())),
            limit={**limit, "resets_at": self.resets_at.astimezone(UTC).strftime(TIME_FORMAT)},
        )


# The day in the service's time zone and the clock hour: both end at a time we can announce.
PERIOD = """
SELECT (now() AT TIME ZONE %(time_zone)s::text)::date AS today, date_trunc('hour', now()) AS hour"""
# If clocks go back at midnight, it occurs twice, and PostgreSQL takes the second; if they go
# forward then, the day's last second may not exist.
DAY_ENDS = """LEAST((period.today + 1)::timestamp AT TIME ZONE %(time_zone)s::text,
  (period.today + time '23:59:59') AT TIME ZONE %(time_zone)s::text + interval '1 second')"""
HOUR_ENDS = "(period.hour + interval '1 hour')"

# A statement that waited for the row past midnight counts in the new day.
DAY_USED = "CASE WHEN wallet.day >= period.today THEN wallet.day_tokens ELSE 0 END"
HOUR_BASE = "CASE WHEN wallet.hour >= period.hour THEN wallet.hour_tokens ELSE '{}' END"
KEY_BASE = "CASE WHEN wallet.day >= period.today THEN wallet.key_tokens ELSE '{}' END"
NO_LIMIT = 2**62  # tokens; the limit of a key without one
NO_KEY = "0"  # stands for sends without a key: by the cabinet, and by the service itself


def key_name(api_key_id: int | None) -> str:
    """A key's name in the wallet."""
    return str(api_key_id) if api_key_id else NO_KEY


def key_used(key: str) -> str:
    used = f"(wallet.key_tokens->>{key})::bigint"
    return f"CASE WHEN wallet.day >= period.today THEN COALESCE({used}, 0) ELSE 0 END"


def hour_used(country: str) -> str:
    used = f"(wallet.hour_tokens->>{country})::bigint"
    return f"CASE WHEN wallet.hour >= period.hour THEN COALESCE({used}, 0) ELSE 0 END"


def floors() -> dict[str, Any]:
    return {
        "time_zone": settings.TIME_ZONE,
        "day_floor": settings.BUDGET_DAY,
        "hour_floor": settings.BUDGET_COUNTRY_HOUR,
    }


_EFFECTIVE = sql_files.read("billing/budgets/effective_budgets.sql")


def effective_budgets(company: str, country: str) -> str:
    """Selects one row: the day's budget and the country's hourly budget. A set budget wins;
    otherwise the larger of the usual one and the default.
    """
    return sql_files.fill(_EFFECTIVE, company=company, country=country)
