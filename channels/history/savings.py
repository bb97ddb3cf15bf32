"""A company's savings by smart routing against its held-out codes, with a 95 % interval."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta
from math import sqrt

from django.utils import timezone

from accounts.models import Company
from channels.models import RouteDay

DAYS = 30
MIN_CODES = 400  # codes of both arms; with fewer no saving is claimed
MIN_CODES_OF_ARM = 20
Z = 1.96  # quantile of a normal distribution for 95 %


@dataclass(slots=True)
class ArmSums:
    codes: int = 0
    entered: int = 0
    tokens: int = 0
    tokens_squared: int = 0
    seconds: float = 0.0

    def add(self, day: RouteDay) -> None:
        self.codes += day.codes
        self.entered += day.entered
        self.tokens += day.tokens
        self.tokens_squared += day.tokens_squared
        self.seconds += day.seconds

    @property
    def mean(self) -> float:
        """Mean cost of one code in tokens."""
        return self.tokens / self.codes if self.codes else 0.0

    @property
    def spread(self) -> float:
        """The sum of the squared distances from the mean."""
        return max(0.0, self.tokens_squared - self.codes * self.mean**2)

    @property
    def share_entered(self) -> float:
        """The entered share in per cent."""
        return 100 * self.entered / self.codes if self.codes else 0.0

    @property
    def mean_seconds(self) -> float:
        return self.seconds / self.entered if self.entered else 0.0


@dataclass(frozen=True, slots=True)
class Saving:
    """The saving in one country, or in all together if `country` is empty."""

    country: str
    smart: ArmSums
    held_out: ArmSums

    @property
    def is_known(self) -> bool:
        codes = self.smart.codes + self.held_out.codes
        smaller = min(self.smart.codes, self.held_out.codes)
        return codes >= MIN_CODES and smaller >= MIN_CODES_OF_ARM

    @property
    def tokens(self) -> int:
        """Tokens saved by smart routing; negative if it cost more."""
        return round((self.held_out.mean - self.smart.mean) * self.smart.codes)

    @property
    def margin(self) -> int:
        """Half of the interval, by the variance of both arms together.

        The few held-out codes may contain no SMS by chance, and would then seem not to vary.
        """
        smart = self.smart
        held_out = self.held_out
        variance = (smart.spread + held_out.spread) / (smart.codes + held_out.codes - 2)
        error = sqrt(variance * (1 / smart.codes + 1 / held_out.codes))
        return round(Z * error * smart.codes)

    @property
    def lower(self) -> int:
        return self.tokens - self.margin

    @property
    def upper(self) -> int:
        return self.tokens + self.margin


def savings(company: Company) -> list[Saving]:
    """All countries together first, then each country, most codes first."""
    since = timezone.localdate() - timedelta(days=DAYS)
    return of_days(RouteDay.objects.filter(company=company, day__gt=since))


def of_days(rows: Iterable[RouteDay]) -> list[Saving]:
    arms: dict[tuple[str, str], ArmSums] = defaultdict(ArmSums)
    by_arm: dict[str, ArmSums] = defaultdict(ArmSums)
    for row in rows:
        arms[row.country, row.arm].add(row)
        by_arm[row.arm].add(row)
    if not by_arm:
        return []
    smart = RouteDay.Arm.SMART
    held_out = RouteDay.Arm.HOLD_OUT
    countries = [
        Saving(country, arms[country, smart], arms[country, held_out])
        for country in sorted({country for country, _arm in arms})
    ]
    countries.sort(key=lambda row: -(row.smart.codes + row.held_out.codes))
    return [Saving("", by_arm[smart], by_arm[held_out]), *countries]
