"""Top-ups without a person: terms, saved methods, orders."""

import django.core.validators
import django.db.models.deletion
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

SQUAWK_EXCEPTIONS = {"prefer-bigint-over-smallint": "ten times a day at most"}


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0011_key_day_limit'),
        ('billing', '0021_sms_prices'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='MethodSaving',
            fields=[
                ('order', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='saving', serialize=False, to='billing.order')),
            ],
            options={
                'verbose_name': 'payment that saves its method',
                'verbose_name_plural': 'payments that save their method',
            },
        ),
        migrations.CreateModel(
            name='SavedMethod',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('method_id', models.CharField(max_length=200)),
                ('customer_id', models.CharField(blank=True, max_length=200)),
                ('brand', models.CharField(blank=True, max_length=60, verbose_name='brand')),
                ('last4', models.CharField(blank=True, max_length=4, verbose_name='last digits')),
                ('saved_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='saved')),
            ],
            options={
                'verbose_name': 'saved payment method',
                'verbose_name_plural': 'saved payment methods',
            },
        ),
        migrations.CreateModel(
            name='AutomaticOrder',
            fields=[
                ('order', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, related_name='automatic', serialize=False, to='billing.order', verbose_name='top-up')),
                ('day', models.DateField()),
                ('number', models.PositiveSmallIntegerField()),
                ('method_id', models.CharField(blank=True, max_length=200)),
                ('customer_id', models.CharField(blank=True, max_length=200)),
                ('tried_at', models.DateTimeField(editable=False, null=True)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.company')),
            ],
            options={
                'verbose_name': 'automatic order',
                'verbose_name_plural': 'automatic orders',
                'constraints': [models.UniqueConstraint(fields=('company', 'day', 'number'), name='automatic_order_once')],
            },
        ),
        migrations.CreateModel(
            name='AutoTopUp',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('is_on', models.BooleanField(default=False, verbose_name='on')),
                ('threshold', models.PositiveBigIntegerField(verbose_name='when fewer tokens are available than')),
                ('tokens', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='tokens')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('times_a_day', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)], verbose_name='times a day, at most')),
                ('sum_a_month', models.DecimalField(decimal_places=2, max_digits=14, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='sum a month, at most')),
                ('consented_at', models.DateTimeField(blank=True, null=True, verbose_name='agreed')),
                ('resumed_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('paused_at', models.DateTimeField(blank=True, null=True, verbose_name='paused')),
                ('paused_for', models.CharField(blank=True, choices=[('declined', 'the payment was declined'), ('unpaid', 'the last top-up was canceled or not paid in time'), ('no_price', 'what it buys is no longer on sale'), ('requisites', "an invoice needs the company's billing details"), ('no_gateway', 'the payment method is no longer available')], max_length=10, verbose_name='paused because')),
                ('consented_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='agreed by')),
                ('package', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='billing.package', verbose_name='package')),
            ],
            options={
                'verbose_name': 'automatic top-up',
                'verbose_name_plural': 'automatic top-ups',
                'indexes': [models.Index(condition=models.Q(('is_on', True), ('paused_at', None)), fields=['company'], name='auto_top_up_active')],
            },
        ),
    ]
