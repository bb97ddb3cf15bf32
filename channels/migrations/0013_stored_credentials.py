"""Credentials that operators enter for vendor accounts, encrypted."""

from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('channels', '0012_analyze_month_partition'),
    ]

    operations = [
        migrations.AddField(
            model_name='provideraccount',
            name='credentials',
            field=models.TextField(blank=True, db_default='', default='', editable=False),
        ),
    ]
