"""Until now a company without a list sent everywhere: it keeps the countries that it sent to."""

from collections import defaultdict
from typing import Any

import phonenumbers
from django.db import migrations

# One phone for each beginning: what follows says nothing of the country. Seven characters tell
# the territories apart that share a calling code.
PHONES = """
SELECT m.company_id, c.country, min(m.phone)
FROM channels_message m JOIN accounts_company c ON c.id = m.company_id
WHERE m.mode = 'live' AND c.allowed_countries = '{}' AND NOT c.all_countries
GROUP BY m.company_id, c.country, left(m.phone, 7)
"""
KEEP = "UPDATE accounts_company SET allowed_countries = %s::varchar[] WHERE id = %s"
LENGTH = 12  # of most numbers; digits stand in for those that were taken off an old one


def country_of(phone: str) -> str:
    """As `channels.phone_numbers` had it; of an anonymised one as far as its beginning tells."""
    number = phonenumbers.parse(phone.replace("*", "").ljust(LENGTH, "1"))
    found = phonenumbers.region_code_for_number(number) or ""
    main = phonenumbers.region_code_for_country_code(number.country_code or 0)
    countries = (one for one in (found, main) if one.isalpha() and one != "ZZ")  # 001: nobody's
    return next(countries, "")


def keep(apps: Any, schema_editor: Any) -> None:
    used: dict[int, set[str]] = defaultdict(set)
    with schema_editor.connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")  # reads every message once
        cursor.execute("SET LOCAL idle_in_transaction_session_timeout = 0")  # then reads phones
        cursor.execute(PHONES)
        for company_id, own, phone in cursor.fetchall():
            used[company_id] |= {own, country_of(phone)} - {""}
        for company_id, countries in used.items():
            cursor.execute(KEEP, [sorted(countries), company_id])


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0010_all_countries"),
        ("channels", "0011_known_recipients"),
    ]

    operations = [
        migrations.RunPython(keep, migrations.RunPython.noop),
    ]
