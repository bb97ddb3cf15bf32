"""Refunds, and when a provider was last asked about an order."""

import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0016_drop_seals_of_day'),
    ]

    operations = [
        migrations.AddField(
            model_name='order',
            name='asked_at',
            field=models.DateTimeField(blank=True, editable=False, null=True),
        ),
        migrations.CreateModel(
            name='Refund',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('refund_id', models.CharField(max_length=120, verbose_name="provider's refund")),
                ('payment_reference', models.CharField(max_length=120, verbose_name="provider's payment")),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('tokens', models.PositiveBigIntegerField(default=0, verbose_name='tokens')),
                ('taken', models.PositiveBigIntegerField(default=0, verbose_name='tokens taken back')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('returned_at', models.DateTimeField(blank=True, null=True, verbose_name='dispute won')),
                ('payment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='billing.payment', verbose_name='payment')),
            ],
            options={
                'verbose_name': 'refund',
                'verbose_name_plural': 'refunds',
                'indexes': [models.Index(condition=models.Q(('payment', None)), fields=['gateway', 'payment_reference'], name='refund_without_payment')],
                'constraints': [models.UniqueConstraint(fields=('gateway', 'refund_id'), name='refund_once'), models.CheckConstraint(condition=models.Q(('taken__lte', models.F('tokens'))), name='refund_takes_no_more')],
            },
        ),
    ]
