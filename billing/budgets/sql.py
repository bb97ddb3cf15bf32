"""What a company may spend in a day and, by country, in an hour: fragments for the ledger.

The wallet's row counts both, so that the UPDATE that pays judges and advances them: exact under
races, and gone with the payment where that is rolled back. In all fragments a wallet is `w` and
the present, a row of PERIOD, is `p`.
"""

from typing import Any

from django.conf import settings

# The day of the service's time zone, and the hour of the clock: both have an end to be told.
PERIOD = """
SELECT (now() AT TIME ZONE %(time_zone)s::text)::date AS today, date_trunc('hour', now()) AS hour"""
DAY_ENDS = "((p.today + 1)::timestamp AT TIME ZONE %(time_zone)s::text)"
HOUR_ENDS = "(p.hour + interval '1 hour')"

# A statement that waited for the row past midnight counts in the day that has begun meanwhile.
DAY_USED = "CASE WHEN w.day >= p.today THEN w.day_tokens ELSE 0 END"
HOUR_BASE = "CASE WHEN w.hour >= p.hour THEN w.hour_tokens ELSE '{}' END"


def hour_used(country: str) -> str:
    return (
        f"CASE WHEN w.hour >= p.hour THEN COALESCE((w.hour_tokens->>{country})::bigint, 0)"
        " ELSE 0 END"
    )


def floors() -> dict[str, Any]:
    return {
        "time_zone": settings.TIME_ZONE,
        "day_floor": settings.BUDGET_DAY,
        "hour_floor": settings.BUDGET_COUNTRY_HOUR,
    }


def effective_budgets(company: str, country: str) -> str:
    """One row: the budget of the day and that of the country's hour. What somebody has set holds;
    else what was usual lately, or the service's least, whichever is more.
    """
    own, usual = "max(own) FILTER (WHERE country = {})", "max(usual) FILTER (WHERE country = {})"
    return f"""
SELECT COALESCE({own.format("''")}, GREATEST({usual.format("''")}, %(day_floor)s::bigint)) AS day,
  COALESCE({own.format(country)}, GREATEST({usual.format(country)},
    COALESCE({own.format("'*'")}, %(hour_floor)s::bigint))) AS hour
FROM billing_budget WHERE company_id = {company} AND country IN ('', '*', {country})"""  # noqa: S608
