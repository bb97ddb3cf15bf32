from django.db import migrations

# More than these would leave others nothing of what one phone may get in a day.
# Not by LEAST(), which passes over NULL in PostgreSQL: that is the service's own, lower default.
LARGEST = {
    "codes_per_10_min": 10,
    "codes_per_hour": 20,
    "codes_per_day": 20,
    "links_per_10_min": 10,
    "links_per_day": 20,
}
_CLAMPED = ", ".join(
    f"{name} = CASE WHEN {name} > {most} THEN {most} ELSE {name} END"
    for name, most in LARGEST.items()
)
_ABOVE = " OR ".join(f"{name} > {most}" for name, most in LARGEST.items())
CLAMP = f"UPDATE accounts_company SET {_CLAMPED} WHERE {_ABOVE}"  # noqa: S608 - our own names


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0008_immutable_audit"),
    ]

    operations = [
        migrations.RunSQL(CLAMP, migrations.RunSQL.noop),
    ]
