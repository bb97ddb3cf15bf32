import django.contrib.postgres.fields
import django.core.validators
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0005_endpoint_once'),
    ]

    operations = [
        migrations.AddField(
            model_name='company',
            name='fallback_chain',
            field=django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), blank=True, db_default=[], default=list, size=None, verbose_name='fallback chain'),
        ),
        migrations.AddField(
            model_name='company',
            name='fallback_max_cost',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='tokens that a fallback may cost'),
        ),
        migrations.AddField(
            model_name='company',
            name='falls_back',
            field=models.BooleanField(db_default=False, default=False, verbose_name='falls back'),
        ),
        migrations.AddField(
            model_name='company',
            name='patience_sms',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='seconds for a proof by SMS'),
        ),
        migrations.AddField(
            model_name='company',
            name='patience_telegram',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='seconds for a proof by Telegram'),
        ),
        migrations.AddField(
            model_name='company',
            name='patience_whatsapp',
            field=models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='seconds for a proof by WhatsApp'),
        ),
    ]
