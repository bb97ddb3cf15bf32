"""Prices of an SMS by country."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

SQUAWK_EXCEPTIONS = {"prefer-bigint-over-smallint": "an SMS costs at most 1,000 tokens"}


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0020_bank_transfers'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='SmsPrice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('tokens', models.PositiveSmallIntegerField(blank=True, help_text='empty: the price of all countries again', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='tokens per SMS')),
                ('starts_at', models.DateTimeField(default=django.utils.timezone.now, help_text='messages sent before keep the price that they were held at', verbose_name='from')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'price of an SMS by country',
                'verbose_name_plural': 'prices of an SMS by country',
                'constraints': [models.UniqueConstraint(fields=('country', 'starts_at'), name='sms_price_once'), models.CheckConstraint(condition=models.Q(('tokens__isnull', True), models.Q(('tokens__gte', 1), ('tokens__lte', 1000)), _connector='OR'), name='sms_price_in_range')],
            },
        ),
    ]
