"""Transfers by month of their message."""

from django.db import migrations

from config.storage.months.partitions import CONVERSION_RULES, convert_if_new

SQUAWK_EXCEPTIONS = dict.fromkeys(
    [*CONVERSION_RULES, "ban-alter-identity"],
    "it converts tables of a new database alone",
)


class Migration(migrations.Migration):
    atomic = False  # the conversion validates before it locks
    dependencies = [
        ("accounts", "0005_month_partitions"),
        ("billing", "0008_transfer_indexes"),
    ]

    operations = [migrations.RunPython(convert_if_new("billing_transfer"), migrations.RunPython.noop)]
