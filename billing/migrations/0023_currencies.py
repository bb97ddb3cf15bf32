"""Prices of a single token by currency, and the currency that a company is offered."""

import django.core.validators
from django.conf import settings
from django.db import migrations, models

SQUAWK_EXCEPTIONS = {
    "ban-drop-constraint": "the last release looks up tiers, and asks for no conflict",
    "require-concurrent-index-deletion": "a price list has a few rows",
    "disallowed-unique-constraint": "a price list has a few rows",
    "constraint-missing-not-valid": "a price list has a few rows",
}


def keep_the_currency(apps, schema_editor):
    """Until now all were in the service's."""
    apps.get_model("billing", "Tariff").objects.update(currency=settings.CURRENCY)


class Migration(migrations.Migration):
    dependencies = [("billing", "0022_auto_top_up")]

    operations = [
        migrations.AddField(
            "billingprofile",
            "currency",
            models.CharField(
                blank=True,
                db_default="",
                default="",
                max_length=3,
                verbose_name="currency of prices",
            ),
        ),
        migrations.AddField(
            "tariff",
            "currency",
            models.CharField(
                db_default="RUB",
                default="RUB",
                max_length=3,
                validators=[
                    django.core.validators.RegexValidator(
                        "^[A-Z]{3}$", "Three capital letters, such as RUB."
                    )
                ],
                verbose_name="currency",
            ),
        ),
        migrations.AlterModelOptions(
            "tariff",
            options={
                "ordering": ["currency", "tokens_from"],
                "verbose_name": "price of a token",
                "verbose_name_plural": "prices of a token",
            },
        ),
        migrations.AlterField(
            "tariff",
            "tokens_from",
            models.PositiveBigIntegerField(
                validators=[django.core.validators.MinValueValidator(1)],
                verbose_name="from tokens",
            ),
        ),
        migrations.AddConstraint(
            "tariff",
            models.UniqueConstraint(fields=("currency", "tokens_from"), name="tariff_step_once"),
        ),
        migrations.RunPython(keep_the_currency, migrations.RunPython.noop, elidable=True),
    ]
