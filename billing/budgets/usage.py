"""How much of a limit is used."""

from dataclasses import dataclass
from datetime import datetime

TIME_FORMAT = "%Y-%m-%dT%H:%M:%SZ"


@dataclass(frozen=True, slots=True)
class BudgetUsage:
    """How much of a budget is used; `country` is empty for the day's budget."""

    country: str
    used: int
    tokens: int
    resets_at: datetime
    own: int | None = None  # as set by an owner or the operator

    @property
    def left(self) -> int:
        return max(0, self.tokens - self.used)

    @property
    def percent(self) -> int:
        return min(100, self.used * 100 // self.tokens) if self.tokens else 100
