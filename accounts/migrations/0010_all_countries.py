import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("accounts", "0009_bound_phone_limits"),
    ]

    operations = [
        migrations.AddField(
            model_name="company",
            name="all_countries",
            field=models.BooleanField(
                db_default=False, default=False, verbose_name="every country"
            ),
        ),
        migrations.AlterField(
            model_name="company",
            name="allowed_countries",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=2),
                blank=True,
                default=list,
                help_text="empty: the company's own",
                size=None,
                verbose_name="allowed countries",
            ),
        ),
    ]
