"""Companies that are there already begin with budgets that fit what they spent of late.

Counted as `otp.usual_spending` did when this was written, by itself: a later column must not break it.
"""

from collections import defaultdict
from datetime import date, datetime, time, timedelta
from typing import Any

import phonenumbers
from django.conf import settings
from django.db import migrations
from django.utils import timezone

UNKNOWN = "ZZ"  # the country of a calling code that none owns
# One phone stands for all that begin like it: seven characters tell countries apart that share a
# calling code.
SPENT = """
SELECT m.company_id, date_trunc('hour', m.created_at), min(m.phone), sum(m.price)
FROM channels_message m LEFT JOIN otp_verification v ON v.id = m.subject_id AND m.kind = 'code'
WHERE m.created_at >= %s AND m.created_at < %s AND m.phone NOT LIKE '%%*'
  AND m.mode = 'live' AND m.price > 0
  AND CASE m.kind WHEN 'code' THEN v.verified_at IS NOT NULL ELSE m.state = 'delivered' END
GROUP BY m.company_id, date_trunc('hour', m.created_at), left(m.phone, 7)
"""

Days = dict[tuple[int, str, date], dict[datetime, int]]


def country_of(phone: str) -> str:
    number = phonenumbers.parse(phone)
    found = phonenumbers.region_code_for_number(number) or ""
    main = phonenumbers.region_code_for_country_code(number.country_code or 0)
    return next((one for one in (found, main) if one.isalpha()), UNKNOWN)  # 001: no country's


def spent(connection: Any, days: int) -> Days:
    """By company, country and day, the tokens of each hour."""
    today = timezone.localdate()
    start, end = (
        timezone.make_aware(datetime.combine(day, time.min))
        for day in (today - timedelta(days=days), today)
    )
    found: Days = defaultdict(lambda: defaultdict(int))
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # reads four weeks of messages once
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # and then counts
        cursor.execute(SPENT, [start, end])
        for company_id, hour, phone, tokens in cursor.fetchall():
            found[company_id, country_of(phone), timezone.localdate(hour)][hour] += int(tokens)
    return found


def usual(found: Days, times: int) -> dict[int, dict[str, int]]:
    """So many times the busiest day, under the empty country, and each country's busiest hour."""
    days: dict[tuple[int, date], int] = defaultdict(int)
    most: dict[int, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    for (company_id, country, day), hours in found.items():
        days[company_id, day] += sum(hours.values())
        most[company_id][country] = max(most[company_id][country], times * max(hours.values()))
    for (company_id, _day), tokens in days.items():
        most[company_id][""] = max(most[company_id][""], times * tokens)
    return most


def learn(apps: Any, schema_editor: Any) -> None:
    """Nobody has set a budget yet: they come with the same upgrade. The days that are counted here
    are not counted again; a day without spending has no row.
    """
    times, days = getattr(settings, "BUDGET_USUAL", (3, 28))
    found = spent(schema_editor.connection, days)
    learnt = usual(found, times)
    spent_day = apps.get_model("billing", "SpentDay")
    spent_day.objects.bulk_create(
        [
            spent_day(
                company_id=company_id,
                country=country,
                day=day,
                tokens=sum(hours.values()),
                busiest_hour=max(hours.values()),
            )
            for (company_id, country, day), hours in found.items()
        ],
        batch_size=1000,
        ignore_conflicts=True,
    )
    budget = apps.get_model("billing", "Budget")
    company = apps.get_model("accounts", "Company")
    for company_id, tokens in learnt.items():
        budget.objects.bulk_create(
            [
                budget(company_id=company_id, country=country, usual=most)
                for country, most in tokens.items()
            ],
            ignore_conflicts=True,
        )
        company.objects.filter(pk=company_id).update(
            budgets={country: [None, most] for country, most in tokens.items()}
        )


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0014_company_budgets"),
        ("billing", "0007_budgets"),
        ("channels", "0014_times_in_order"),
        ("otp", "0005_field_labels"),
    ]

    operations = [
        migrations.RunPython(learn, migrations.RunPython.noop),
    ]
