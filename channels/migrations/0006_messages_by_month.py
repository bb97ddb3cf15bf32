"""Messages, attempts and receipts by month."""

from django.db import migrations

from config.storage.months.partitions import CONVERSION_RULES, convert_if_new

SQUAWK_EXCEPTIONS = dict.fromkeys(
    [*CONVERSION_RULES, "adding-serial-primary-key-field", "ban-alter-identity", "constraint-missing-not-valid"],
    "it converts tables of a new database alone",
)


class Migration(migrations.Migration):
    atomic = False  # the conversion validates before it locks
    dependencies = [
        ("accounts", "0005_month_partitions"),
        ("channels", "0005_no_foreign_keys"),
    ]

    operations = [migrations.RunPython(convert_if_new("channels_message", "channels_attempt", "channels_receipt"), migrations.RunPython.noop)]
