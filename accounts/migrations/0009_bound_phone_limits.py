from django.db import migrations

# More than these would leave others nothing of what one phone may get in a day.
CLAMP = """
UPDATE accounts_company SET
  codes_per_hour = LEAST(codes_per_hour, 20), codes_per_day = LEAST(codes_per_day, 20),
  codes_per_10_min = LEAST(codes_per_10_min, 10),
  links_per_10_min = LEAST(links_per_10_min, 10), links_per_day = LEAST(links_per_day, 20)
WHERE codes_per_10_min > 10 OR codes_per_hour > 20 OR codes_per_day > 20
  OR links_per_10_min > 10 OR links_per_day > 20
"""


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_immutable_audit"),
    ]

    operations = [
        migrations.RunSQL(CLAMP, migrations.RunSQL.noop),
    ]
