from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("billing", "0001_squashed")]

    operations = [
        migrations.RenameField("BillingProfile", "told_at", "low_balance_notified_at"),
    ]
