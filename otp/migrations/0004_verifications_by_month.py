"""Verifications by month."""

from django.db import migrations

from config.storage.months.partitions import CONVERSION_RULES, convert_if_new

SQUAWK_EXCEPTIONS = dict.fromkeys(
    [*CONVERSION_RULES, "adding-serial-primary-key-field", "constraint-missing-not-valid"],
    "it converts tables of a new database alone",
)


class Migration(migrations.Migration):
    atomic = False  # the conversion validates before it locks
    dependencies = [
        ("accounts", "0005_month_partitions"),
        ("otp", "0003_no_foreign_keys"),
    ]

    operations = [migrations.RunPython(convert_if_new("otp_verification"), migrations.RunPython.noop)]
