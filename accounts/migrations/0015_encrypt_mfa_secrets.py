from django.db import migrations

from accounts.sign_in import mfa


def _change_each(apps, change):
    for row in apps.get_model("mfa", "Authenticator").objects.select_for_update().order_by("pk"):
        if mfa.replace_secrets(row.data, change):
            row.save(update_fields=["data"])


def encrypt(apps, _editor):
    _change_each(apps, lambda stored: mfa.encrypt(mfa.decrypt(stored)))


def decrypt(apps, _editor):
    _change_each(apps, mfa.decrypt)


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0014_company_budgets"),
        ("mfa", "0003_authenticator_type_uniq"),
    ]

    operations = [migrations.RunPython(encrypt, decrypt)]
