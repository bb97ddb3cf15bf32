"""Wallets, transfers, orders, payments, budgets."""

import billing.requisites
import config.ids
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

# Transfers are only ever added: the database refuses to change, drop or empty them.
FORBID_TRANSFER_CHANGES = """
CREATE FUNCTION billing_transfer_is_immutable() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  RAISE EXCEPTION 'transfers are immutable: correct one with another' USING ERRCODE = '23001';
END $$;
CREATE TRIGGER billing_transfer_immutable BEFORE UPDATE OR DELETE ON billing_transfer
  FOR EACH ROW EXECUTE FUNCTION billing_transfer_is_immutable();
CREATE TRIGGER billing_transfer_no_truncate BEFORE TRUNCATE ON billing_transfer
  FOR EACH STATEMENT EXECUTE FUNCTION billing_transfer_is_immutable();
"""
ALLOW_TRANSFER_CHANGES = """
DROP TRIGGER billing_transfer_no_truncate ON billing_transfer;
DROP TRIGGER billing_transfer_immutable ON billing_transfer;
DROP FUNCTION billing_transfer_is_immutable();
"""


class Migration(migrations.Migration):

    initial = True

    replaces = [
        ('billing', '0001_initial'),
        ('billing', '0002_immutable_transfers'),
        ('billing', '0003_top_ups'),
        ('billing', '0004_transfers_not_truncated'),
        ('billing', '0005_field_labels'),
        ('billing', '0006_billing_country'),
        ('billing', '0007_budgets'),
    ]

    dependencies = [
        ('accounts', '0001_squashed'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BillingProfile',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('country', models.CharField(blank=True, db_default='', default='', max_length=2, verbose_name='country')),
                ('legal_name', models.CharField(blank=True, max_length=200, verbose_name='legal name')),
                ('inn', models.CharField(blank=True, max_length=20, verbose_name='INN')),
                ('kpp', models.CharField(blank=True, max_length=9, verbose_name='KPP')),
                ('address', models.CharField(blank=True, max_length=300, verbose_name='address')),
                ('email', models.EmailField(blank=True, max_length=254, verbose_name='e-mail for documents')),
                ('low_balance', models.PositiveBigIntegerField(default=100, verbose_name='low-balance alert below')),
                ('told_at', models.DateTimeField(blank=True, null=True, verbose_name='low-balance alert sent')),
            ],
            options={
                'verbose_name': 'billing profile',
                'verbose_name_plural': 'billing profiles',
            },
        ),
        migrations.CreateModel(
            name='InvoiceCounter',
            fields=[
                ('year', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ('last', models.PositiveIntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name='Package',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('code', models.SlugField(help_text='for the API', max_length=40, unique=True, verbose_name='code')),
                ('tokens', models.PositiveBigIntegerField(validators=[django.core.validators.MinValueValidator(1)], verbose_name='tokens')),
                ('price', models.DecimalField(decimal_places=2, max_digits=12, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='price')),
                ('currency', models.CharField(default='RUB', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}$', 'Three capital letters, such as RUB.')], verbose_name='currency')),
                ('position', models.PositiveSmallIntegerField(default=0, verbose_name='place in the list')),
                ('is_active', models.BooleanField(default=True, verbose_name='on sale')),
            ],
            options={
                'verbose_name': 'package',
                'verbose_name_plural': 'packages',
                'ordering': ['position', 'tokens'],
                'constraints': [models.CheckConstraint(condition=models.Q(('price__gt', 0), ('tokens__gt', 0)), name='package_costs_something')],
            },
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('tokens', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('vat_rate', models.DecimalField(decimal_places=2, max_digits=4, null=True, verbose_name='VAT, %')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('state', models.CharField(choices=[('created', 'being prepared'), ('pending', 'waiting for payment'), ('paid', 'paid'), ('canceled', 'canceled'), ('expired', 'expired')], default='created', max_length=8, verbose_name='state')),
                ('payment_id', models.CharField(blank=True, max_length=120, verbose_name="provider's payment")),
                ('payment_url', models.CharField(blank=True, max_length=500, verbose_name='payment page')),
                ('return_url', models.CharField(blank=True, max_length=500, verbose_name='return address')),
                ('language', models.CharField(default='ru', max_length=2, verbose_name='language')),
                ('invoice_year', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='year of the invoice')),
                ('invoice_number', models.PositiveIntegerField(blank=True, null=True, verbose_name='invoice number')),
                ('parties', models.JSONField(default=dict, verbose_name='parties')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                ('expires_at', models.DateTimeField(verbose_name='to be paid by')),
                ('paid_at', models.DateTimeField(blank=True, null=True, verbose_name='paid')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('api_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='accounts.company', verbose_name='company')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
                ('package', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='billing.package', verbose_name='package')),
            ],
            options={
                'verbose_name': 'top-up',
                'verbose_name_plural': 'top-ups',
            },
        ),
        migrations.CreateModel(
            name='Payment',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('payment_id', models.CharField(max_length=120, verbose_name="provider's payment")),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('is_credited', models.BooleanField(default=False, verbose_name='credited')),
                ('problem', models.CharField(blank=True, choices=[('late', 'late: the order had ended, the tokens are credited'), ('wrong_amount', 'another amount: nothing is credited'), ('wrong_currency', 'another currency: nothing is credited'), ('second', 'the order was paid already: nothing is credited'), ('unknown_order', 'no such order: nothing is credited')], max_length=16, verbose_name='problem')),
                ('reference', models.CharField(blank=True, max_length=60, verbose_name='bank reference')),
                ('paid_on', models.DateField(blank=True, null=True, verbose_name='paid on')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('confirmed_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='confirmed by')),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='payments', to='billing.order', verbose_name='top-up')),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='settled by')),
            ],
            options={
                'verbose_name': 'payment',
                'verbose_name_plural': 'payments',
            },
        ),
        migrations.CreateModel(
            name='Seller',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='as the bank knows it', max_length=160, verbose_name='name')),
                ('inn', models.CharField(max_length=12, validators=[billing.requisites.INN], verbose_name='INN')),
                ('kpp', models.CharField(blank=True, max_length=9, validators=[django.core.validators.RegexValidator('^\\d{4}[\\dA-Z]{2}\\d{3}$', 'A KPP has nine characters.')], verbose_name='KPP')),
                ('address', models.CharField(max_length=300, verbose_name='address')),
                ('bank_name', models.CharField(max_length=120, verbose_name='bank')),
                ('bic', models.CharField(max_length=9, validators=[django.core.validators.RegexValidator('^\\d{9}$', 'A BIC has nine digits.')], verbose_name='BIC')),
                ('account', models.CharField(max_length=20, validators=[django.core.validators.RegexValidator('^\\d{20}$', 'An account number has twenty digits.')], verbose_name='account')),
                ('corr_account', models.CharField(max_length=20, validators=[django.core.validators.RegexValidator('^\\d{20}$', 'An account number has twenty digits.')], verbose_name='correspondent account')),
                ('vat_rate', models.DecimalField(blank=True, decimal_places=2, help_text='included in the prices; empty: not a VAT payer', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('99'))], verbose_name='VAT, %')),
                ('head', models.CharField(blank=True, max_length=80, verbose_name='head, signs invoices')),
                ('accountant', models.CharField(blank=True, max_length=80, verbose_name='chief accountant')),
                ('details_en', models.TextField(blank=True, help_text='English: name, bank, IBAN, SWIFT; shown on English invoices', max_length=1000, verbose_name='bank details for payers abroad')),
            ],
            options={
                'verbose_name': "seller's details",
                'verbose_name_plural': "seller's details",
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='seller_is_one')],
            },
        ),
        migrations.CreateModel(
            name='SpentDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(max_length=2)),
                ('day', models.DateField()),
                ('tokens', models.PositiveBigIntegerField()),
                ('busiest_hour', models.PositiveBigIntegerField()),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'verbose_name': 'spending of a day',
                'verbose_name_plural': 'spending by day',
            },
        ),
        migrations.CreateModel(
            name='Tariff',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tokens_from', models.PositiveBigIntegerField(unique=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='from tokens')),
                ('price', models.DecimalField(decimal_places=4, max_digits=10, validators=[django.core.validators.MinValueValidator(Decimal('0.0001'))], verbose_name='price of a token')),
            ],
            options={
                'verbose_name': 'price of a token',
                'verbose_name_plural': 'prices of a token',
                'ordering': ['tokens_from'],
                'constraints': [models.CheckConstraint(condition=models.Q(('price__gt', 0), ('tokens_from__gt', 0)), name='tariff_costs_something')],
            },
        ),
        migrations.CreateModel(
            name='Transfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('top_up', 'top-up'), ('grant', 'granted'), ('withdraw', 'withdrawn'), ('hold', 'held'), ('capture', 'charged'), ('release', 'returned')], max_length=8, verbose_name='kind')),
                ('amount', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('key', models.CharField(max_length=80, unique=True, verbose_name='key')),
                ('message_id', models.UUIDField(blank=True, null=True, verbose_name='message')),
                ('proof', models.CharField(blank=True, choices=[('receipt', 'delivery receipt'), ('handed_over', 'handed over; the channel has no receipts'), ('code_entered', 'the code was entered'), ('click', 'the link was opened')], max_length=12, verbose_name='proof')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='transfers', to='accounts.company', verbose_name='company')),
                ('created_by', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'transfer',
                'verbose_name_plural': 'transfers',
            },
        ),
        migrations.CreateModel(
            name='Wallet',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('available', models.BigIntegerField(default=0, verbose_name='available')),
                ('held', models.BigIntegerField(default=0, verbose_name='held')),
                ('day', models.DateField(editable=False, null=True)),
                ('day_tokens', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('hour', models.DateTimeField(editable=False, null=True)),
                ('hour_tokens', models.JSONField(db_default={}, default=dict, editable=False)),
            ],
            options={
                'verbose_name': 'wallet',
                'verbose_name_plural': 'wallets',
                'constraints': [models.CheckConstraint(condition=models.Q(('available__gte', 0)), name='wallet_available'), models.CheckConstraint(condition=models.Q(('held__gte', 0)), name='wallet_held')],
            },
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(blank=True, help_text="ISO 3166; empty: the company's day; *: an hour in any other country", max_length=2, verbose_name='country')),
                ('own', models.PositiveBigIntegerField(blank=True, help_text='leave empty to base it on recent spending', null=True, verbose_name='tokens')),
                ('usual', models.PositiveBigIntegerField(blank=True, editable=False, null=True, verbose_name='based on recent spending')),
                ('warned_for', models.DateTimeField(editable=False, null=True)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'budget',
                'verbose_name_plural': 'budgets',
                'constraints': [models.UniqueConstraint(fields=('company', 'country'), name='budget_once')],
            },
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(models.F('company'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='order_of_company'),
        ),
        migrations.AddIndex(
            model_name='order',
            index=models.Index(condition=models.Q(('state__in', ('created', 'pending'))), fields=['expires_at'], name='order_open'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0), ('tokens__gt', 0)), name='order_costs_something'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('paid_at__isnull', False), ('state', 'paid')), models.Q(models.Q(('state', 'paid'), _negated=True), ('paid_at__isnull', True)), _connector='OR'), name='order_paid_has_time'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.UniqueConstraint(condition=models.Q(('payment_id', ''), _negated=True), fields=('gateway', 'payment_id'), name='order_payment_once'),
        ),
        migrations.AddConstraint(
            model_name='order',
            constraint=models.UniqueConstraint(fields=('invoice_year', 'invoice_number'), name='order_invoice_once'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(condition=models.Q(('settled_at', None), models.Q(('problem', ''), _negated=True)), fields=['created_at'], name='payment_to_look_at'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(fields=('gateway', 'payment_id'), name='payment_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('is_credited', True)), fields=('order',), name='payment_credits_order_once'),
        ),
        migrations.AddConstraint(
            model_name='spentday',
            constraint=models.UniqueConstraint(fields=('day', 'company', 'country'), name='spent_day_once'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(models.F('company'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='transfer_statement'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(fields=['message_id'], name='transfer_message'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='transfer_amount'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('kind', 'capture'), models.Q(('proof', ''), _negated=True)), models.Q(models.Q(('kind', 'capture'), _negated=True), ('proof', '')), _connector='OR'), name='transfer_capture_has_proof'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.UniqueConstraint(condition=models.Q(('kind', 'capture')), fields=('message_id',), name='transfer_one_capture'),
        ),
        migrations.RunSQL(FORBID_TRANSFER_CHANGES, ALLOW_TRANSFER_CHANGES),
    ]
