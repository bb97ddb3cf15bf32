import billing.billing_details
import catalogue.ids
import catalogue.languages.page_languages
import django.core.validators
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.utils.timezone
from decimal import Decimal
from django.conf import settings
from django.db import migrations, models

from storage.schema_changes.operations import RunSqlFile, setting
from storage.months.new_tables import partition_by_month


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='ArchivedMonth',
            fields=[
                ('month', models.DateField(primary_key=True, serialize=False)),
                ('detached_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('sha256', models.CharField(blank=True, db_default='', max_length=64)),
                ('dropped_at', models.DateTimeField(null=True)),
            ],
        ),
        migrations.CreateModel(
            name='Order',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('tokens', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('vat_rate', models.DecimalField(decimal_places=2, max_digits=4, null=True, verbose_name='VAT, %')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('state', models.CharField(choices=[('created', 'being prepared'), ('pending', 'waiting for payment'), ('paid', 'paid'), ('canceled', 'cancelled'), ('expired', 'expired')], default='created', max_length=8, verbose_name='state')),
                ('payment_id', models.CharField(blank=True, max_length=120, verbose_name="provider's payment")),
                ('payment_url', models.CharField(blank=True, max_length=2000, verbose_name='payment page')),
                ('return_url', models.CharField(blank=True, max_length=500, verbose_name='return address')),
                ('language', models.CharField(default='ru', max_length=2, verbose_name='language')),
                ('invoice_year', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='year of the invoice')),
                ('invoice_number', models.PositiveIntegerField(blank=True, null=True, verbose_name='invoice number')),
                ('parties', models.JSONField(default=dict, verbose_name='parties')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                ('expires_at', models.DateTimeField(verbose_name='to be paid by')),
                ('paid_at', models.DateTimeField(blank=True, null=True, verbose_name='paid')),
                ('finished_at', models.DateTimeField(blank=True, null=True, verbose_name='finished')),
                ('asked_at', models.DateTimeField(blank=True, editable=False, null=True)),
                ('api_key', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='orders', to='accounts.company', verbose_name='company')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'top-up',
                'verbose_name_plural': 'top-ups',
            },
        ),
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
                ('edo_id', models.CharField(blank=True, db_default='', default='', max_length=60, verbose_name='id in electronic document exchange')),
                ('currency', models.CharField(blank=True, db_default='', default='', max_length=3, verbose_name='currency of prices')),
                ('documents_language', models.CharField(blank=True, choices=catalogue.languages.page_languages.choices, db_default='', default='', max_length=2, verbose_name='language of documents')),
                ('low_balance', models.PositiveBigIntegerField(default=100, verbose_name='low-balance alert below')),
                ('low_balance_notified_at', models.DateTimeField(blank=True, null=True, verbose_name='low-balance alert sent')),
            ],
            options={
                'verbose_name': 'billing profile',
                'verbose_name_plural': 'billing profiles',
            },
        ),
        migrations.CreateModel(
            name='DocumentCounter',
            fields=[
                ('year', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ('last', models.PositiveIntegerField(default=0)),
            ],
            options={
                'abstract': False,
            },
        ),
        migrations.CreateModel(
            name='InvoiceCounter',
            fields=[
                ('year', models.PositiveSmallIntegerField(primary_key=True, serialize=False)),
                ('last', models.PositiveIntegerField(default=0)),
            ],
            options={
                'abstract': False,
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
            name='SealedDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(unique=True, verbose_name='day')),
                ('companies', models.IntegerField(verbose_name='companies')),
                ('head', models.CharField(max_length=64, verbose_name='head')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='sealed')),
            ],
            options={
                'verbose_name': 'sealed day',
                'verbose_name_plural': 'sealed days',
            },
        ),
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
        migrations.AddField(
            model_name='order',
            name='package',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='billing.package', verbose_name='package'),
        ),
        migrations.CreateModel(
            name='AutoTopUp',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('is_enabled', models.BooleanField(default=False, verbose_name='on')),
                ('threshold', models.PositiveBigIntegerField(verbose_name='when fewer tokens are available than')),
                ('tokens', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='tokens')),
                ('gateway', models.CharField(max_length=20, verbose_name='payment method')),
                ('max_orders_per_day', models.PositiveSmallIntegerField(validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10)], verbose_name='times a day, at most')),
                ('max_amount_per_month', models.DecimalField(decimal_places=2, max_digits=14, validators=[django.core.validators.MinValueValidator(Decimal('0.01'))], verbose_name='sum a month, at most')),
                ('currency', models.CharField(blank=True, db_default='', default='', editable=False, max_length=3, verbose_name='currency')),
                ('consented_at', models.DateTimeField(blank=True, null=True, verbose_name='agreed')),
                ('resumed_at', models.DateTimeField(default=django.utils.timezone.now, editable=False)),
                ('paused_at', models.DateTimeField(blank=True, null=True, verbose_name='paused')),
                ('paused_for', models.CharField(blank=True, choices=[('declined', 'the payment was declined'), ('unpaid', 'the last top-up was cancelled or not paid in time'), ('no_price', 'what it buys is no longer on sale'), ('billing_details', "an invoice needs the company's billing details"), ('no_gateway', 'the payment method is no longer available'), ('currency', 'prices are in another currency than the one you agreed to'), ('price', 'one top-up now costs more than you allowed a month'), ('refunded', 'the money of a top-up was returned or disputed'), ('not_saved', 'the payment did not save the card or account'), ('restored', 'the service was restored from a backup')], max_length=16, verbose_name='paused because')),
                ('consented_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='agreed by')),
                ('package', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='billing.package', verbose_name='package')),
            ],
            options={
                'verbose_name': 'automatic top-up',
                'verbose_name_plural': 'automatic top-ups',
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
                ('problem', models.CharField(blank=True, choices=[('late', 'late: the order had ended, the tokens are credited'), ('wrong_amount', 'another amount: nothing is credited'), ('wrong_currency', 'another currency: nothing is credited'), ('second', 'the order was paid already: nothing is credited'), ('unknown_order', 'no such order: nothing is credited'), ('deleted', 'the company is deleted: nothing is credited')], max_length=16, verbose_name='problem')),
                ('reference', models.CharField(blank=True, max_length=60, verbose_name='bank reference')),
                ('paid_on', models.DateField(blank=True, null=True, verbose_name='paid on')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('resolution', models.CharField(blank=True, choices=[('credited', 'credited'), ('returned', 'returned to the payer'), ('closed', 'closed')], db_default='', default='', max_length=8, verbose_name='resolution')),
                ('note', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='note')),
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
            name='BankTransfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('key', models.CharField(editable=False, max_length=64)),
                ('direction', models.CharField(choices=[('in', 'incoming'), ('out', 'outgoing')], max_length=3, verbose_name='direction')),
                ('source', models.CharField(max_length=10, verbose_name='source')),
                ('account', models.CharField(max_length=22, verbose_name='our account')),
                ('document_number', models.CharField(blank=True, max_length=30, verbose_name='payment order')),
                ('booked_on', models.DateField(verbose_name='date')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('party_name', models.CharField(blank=True, max_length=200, verbose_name='payer or payee')),
                ('party_inn', models.CharField(blank=True, max_length=12, verbose_name='INN')),
                ('party_account', models.CharField(blank=True, max_length=34, verbose_name="payer's or payee's account")),
                ('purpose', models.CharField(blank=True, max_length=500, verbose_name='purpose of the payment')),
                ('state', models.CharField(choices=[('matched', 'matched'), ('review', 'waits for a decision'), ('assigned', 'assigned by the operator'), ('returned', 'returned to the payer'), ('dismissed', 'not a top-up')], max_length=9, verbose_name='state')),
                ('problem', models.CharField(blank=True, choices=[('unknown_order', 'names none of our invoices and top-ups'), ('several', 'names several invoices'), ('wrong_amount', 'another amount'), ('wrong_currency', 'another currency'), ('wrong_payer', 'another payer than the invoice names'), ('second', 'the invoice was paid already'), ('canceled', 'the invoice was cancelled'), ('refund', 'money went back: take the tokens back?')], max_length=16, verbose_name='problem')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bank_transfers', to='billing.order', verbose_name='top-up')),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='settled by')),
                ('payment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bank_transfers', to='billing.payment', verbose_name='payment')),
            ],
            options={
                'verbose_name': 'bank transfer',
                'verbose_name_plural': 'bank transfers',
            },
        ),
        migrations.CreateModel(
            name='ReconciliationRun',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('finished_at', models.DateTimeField(null=True)),
                ('position', models.JSONField(default=dict)),
                ('breaches', models.JSONField(default=list)),
            ],
            options={
                'constraints': [models.UniqueConstraint(models.ExpressionWrapper(models.Q(('finished_at', None)), models.BooleanField()), condition=models.Q(('finished_at', None)), name='one_unfinished_reconciliation')],
            },
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
                ('problem', models.CharField(blank=True, choices=[('other_currency', 'another currency than was paid: nothing is taken'), ('more', 'more than was paid: no more is taken than was bought'), ('won', 'the dispute was won: give back what you deducted by hand')], db_default='', default='', max_length=16, verbose_name='problem')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('note', models.CharField(blank=True, db_default='', default='', max_length=200, verbose_name='note')),
                ('payment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='refunds', to='billing.payment', verbose_name='payment')),
            ],
            options={
                'verbose_name': 'refund',
                'verbose_name_plural': 'refunds',
            },
        ),
        migrations.CreateModel(
            name='Seal',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField(verbose_name='day')),
                ('parts', models.JSONField(verbose_name='parts')),
                ('transfers', models.BigIntegerField(verbose_name='transfers')),
                ('available', models.BigIntegerField(verbose_name='available')),
                ('held', models.BigIntegerField(verbose_name='held')),
                ('head', models.CharField(max_length=64, verbose_name='head')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='sealed')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='seals', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'seal',
                'verbose_name_plural': 'seals',
            },
        ),
        migrations.CreateModel(
            name='Seller',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(help_text='as the bank knows it', max_length=160, verbose_name='name')),
                ('inn', models.CharField(max_length=12, validators=[billing.billing_details.validate_inn], verbose_name='INN')),
                ('kpp', models.CharField(blank=True, max_length=9, validators=[django.core.validators.RegexValidator('\\A(?!00)[0-9]{4}(?!00)[0-9A-Z]{2}(?!000)[0-9]{3}\\Z', 'A KPP has nine characters.')], verbose_name='KPP')),
                ('address', models.CharField(max_length=300, verbose_name='address')),
                ('bank_name', models.CharField(max_length=120, verbose_name='bank')),
                ('bic', models.CharField(max_length=9, validators=[django.core.validators.RegexValidator('\\A(?!0+\\Z)[0-9]{9}\\Z', 'A BIC has nine digits.')], verbose_name='BIC')),
                ('account', models.CharField(max_length=20, validators=[django.core.validators.RegexValidator('\\A(?!0+\\Z)[0-9]{20}\\Z', 'An account number has twenty digits.')], verbose_name='account')),
                ('corr_account', models.CharField(max_length=20, validators=[django.core.validators.RegexValidator('\\A(?!0+\\Z)[0-9]{20}\\Z', 'An account number has twenty digits.')], verbose_name='correspondent account')),
                ('vat_rate', models.DecimalField(blank=True, decimal_places=2, help_text='included in the prices; empty: not a VAT payer; counts until the first of the VAT regimes begins', max_digits=4, null=True, validators=[django.core.validators.MinValueValidator(Decimal('0')), django.core.validators.MaxValueValidator(Decimal('99'))], verbose_name='VAT, %')),
                ('charges_vat_abroad', models.BooleanField(db_default=False, default=False, help_text='off: they are invoiced without VAT, those in the EU with a VAT ID under reverse charge', verbose_name='VAT for buyers abroad, too')),
                ('head', models.CharField(blank=True, max_length=80, verbose_name='head, signs invoices')),
                ('accountant', models.CharField(blank=True, max_length=80, verbose_name='chief accountant')),
                ('edo_id', models.CharField(blank=True, db_default='', default='', help_text='as the exchange operator gave it: it goes into the names of XML documents', max_length=60, verbose_name='id in electronic document exchange')),
                ('documents_since', models.DateField(blank=True, help_text='the first month for which documents are issued, by any of its days; empty: none are', null=True, verbose_name='closing documents since')),
                ('details_abroad', models.TextField(blank=True, help_text='English: name, bank, IBAN, SWIFT; shown on English invoices', max_length=1000, verbose_name='bank details for payers abroad')),
            ],
            options={
                'verbose_name': "seller's details",
                'verbose_name_plural': "seller's details",
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='seller_is_one')],
            },
        ),
        migrations.CreateModel(
            name='SmsPrice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(max_length=2, verbose_name='country')),
                ('tokens', models.PositiveSmallIntegerField(blank=True, help_text='empty: the price of all countries again', null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='tokens per SMS')),
                ('starts_at', models.DateTimeField(default=django.utils.timezone.now, help_text='earlier messages keep the price at which they were held', verbose_name='from')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, editable=False, verbose_name='created')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'price of an SMS by country',
                'verbose_name_plural': 'prices of an SMS by country',
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
            name='StatementMark',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('account', models.CharField(max_length=22)),
                ('read_until', models.DateTimeField(null=True)),
                ('read_at', models.DateTimeField(null=True)),
                ('tried_at', models.DateTimeField(null=True)),
                ('noticed_at', models.DateTimeField(null=True)),
                ('error', models.CharField(blank=True, max_length=200)),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('account',), name='statement_mark_of_account_once')],
            },
        ),
        migrations.CreateModel(
            name='Tariff',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('tokens_from', models.PositiveBigIntegerField(validators=[django.core.validators.MinValueValidator(1)], verbose_name='from tokens')),
                ('currency', models.CharField(db_default='RUB', default='RUB', max_length=3, validators=[django.core.validators.RegexValidator('^[A-Z]{3}$', 'Three capital letters, such as RUB.')], verbose_name='currency')),
                ('price', models.DecimalField(decimal_places=4, max_digits=10, validators=[django.core.validators.MinValueValidator(Decimal('0.0001'))], verbose_name='price of a token')),
            ],
            options={
                'verbose_name': 'price of a token',
                'verbose_name_plural': 'prices of a token',
                'ordering': ['currency', 'tokens_from'],
                'constraints': [models.UniqueConstraint(fields=('currency', 'tokens_from'), name='tariff_step_once'), models.CheckConstraint(condition=models.Q(('price__gt', 0), ('tokens_from__gt', 0)), name='tariff_costs_something')],
            },
        ),
        migrations.CreateModel(
            name='Transfer',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('top_up', 'top-up'), ('grant', 'granted'), ('withdraw', 'withdrawn'), ('hold', 'held'), ('capture', 'charged'), ('release', 'returned')], max_length=8, verbose_name='kind')),
                ('amount', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('key', models.CharField(blank=True, max_length=80, null=True, verbose_name='key')),
                ('message_id', models.UUIDField(blank=True, null=True, verbose_name='message')),
                ('hold', models.PositiveSmallIntegerField(blank=True, null=True, verbose_name='hold number')),
                ('proof', models.CharField(blank=True, choices=[('receipt', 'delivery receipt'), ('handed_over', 'handed over; the channel has no receipts'), ('code_entered', 'the code was entered'), ('click', 'the link was opened')], max_length=12, verbose_name='proof')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('balance_after', models.BigIntegerField(editable=False, null=True)),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='transfers', to='accounts.company', verbose_name='company')),
                ('created_by', models.ForeignKey(blank=True, db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'transfer',
                'verbose_name_plural': 'transfers',
            },
        ),
        migrations.CreateModel(
            name='VatRegime',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('since', models.DateField(verbose_name='since')),
                ('regime', models.CharField(choices=[('general', 'general: 22 percent since 2026, 20 before'), ('usn5', 'simplified, 5%'), ('usn7', 'simplified, 7%'), ('exempt', 'without VAT')], max_length=7, verbose_name='regime')),
            ],
            options={
                'verbose_name': 'VAT regime',
                'verbose_name_plural': 'VAT regimes',
                'constraints': [models.UniqueConstraint(fields=('since',), name='vat_regime_once')],
            },
        ),
        migrations.CreateModel(
            name='Wallet',
            fields=[
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.PROTECT, primary_key=True, serialize=False, to='accounts.company', verbose_name='company')),
                ('available', models.BigIntegerField(default=0, verbose_name='available')),
                ('held', models.BigIntegerField(default=0, verbose_name='held')),
                ('moved_at', models.DateTimeField(editable=False, null=True)),
                ('day', models.DateField(editable=False, null=True)),
                ('day_tokens', models.BigIntegerField(db_default=0, default=0, editable=False)),
                ('hour', models.DateTimeField(editable=False, null=True)),
                ('hour_tokens', models.JSONField(db_default={}, default=dict, editable=False)),
                ('key_tokens', models.JSONField(db_default={}, default=dict, editable=False)),
            ],
            options={
                'verbose_name': 'wallet',
                'verbose_name_plural': 'wallets',
                'constraints': [models.CheckConstraint(condition=models.Q(('available__gte', 0)), name='wallet_available'), models.CheckConstraint(condition=models.Q(('held__gte', 0)), name='wallet_held')],
            },
        ),
        migrations.CreateModel(
            name='ArchivedSum',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('top_up', 'top-up'), ('grant', 'granted'), ('withdraw', 'withdrawn'), ('hold', 'held'), ('capture', 'charged'), ('release', 'returned')], max_length=8)),
                ('transfers', models.PositiveBigIntegerField()),
                ('tokens', models.PositiveBigIntegerField()),
                ('last_at', models.DateTimeField()),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='+', to='accounts.company')),
                ('month', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='sums', to='billing.archivedmonth')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('company', 'month', 'kind'), name='archived_sum_once')],
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
            },
        ),
        migrations.CreateModel(
            name='BalanceAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('tokens', 'tokens left'), ('days', "days left at last week's rate"), ('budget', 'percent of the daily budget used')], max_length=6, verbose_name='alert')),
                ('level', models.PositiveBigIntegerField(verbose_name='level')),
                ('notified_at', models.DateTimeField(editable=False, null=True)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='balance_alerts', to='accounts.company')),
            ],
            options={
                'verbose_name': 'balance alert',
                'verbose_name_plural': 'balance alerts',
                'constraints': [models.UniqueConstraint(fields=('company', 'kind', 'level'), name='balance_alert_once')],
            },
        ),
        migrations.CreateModel(
            name='Budget',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('country', models.CharField(blank=True, help_text="ISO 3166; empty: the company's day; *: an hour in any other country", max_length=2, verbose_name='country')),
                ('fixed_tokens', models.PositiveBigIntegerField(blank=True, help_text='leave empty to base it on recent spending', null=True, verbose_name='tokens')),
                ('usual_tokens', models.PositiveBigIntegerField(blank=True, editable=False, null=True, verbose_name='based on recent spending')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'budget',
                'verbose_name_plural': 'budgets',
                'constraints': [models.UniqueConstraint(fields=('company', 'country'), name='budget_once')],
            },
        ),
        migrations.CreateModel(
            name='ClosedMonth',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('month', models.DateField(verbose_name='month')),
                ('opening', models.BigIntegerField(verbose_name='opening balance')),
                ('bought', models.BigIntegerField(verbose_name='bought')),
                ('granted', models.BigIntegerField(verbose_name='granted')),
                ('withdrawn', models.BigIntegerField(verbose_name='withdrawn')),
                ('spent', models.BigIntegerField(verbose_name='spent')),
                ('closing', models.BigIntegerField(verbose_name='closing balance')),
                ('charges', models.JSONField(default=list, verbose_name='charges')),
                ('money', models.JSONField(default=dict, verbose_name='money')),
                ('head', models.CharField(blank=True, max_length=64, verbose_name='seal')),
                ('is_due', models.BooleanField(default=False, verbose_name='documents are due')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='closed')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='closed_months', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'closed month',
                'verbose_name_plural': 'closed months',
                'indexes': [models.Index(condition=models.Q(('is_due', True)), fields=['month', 'company'], name='closed_month_due')],
                'constraints': [models.UniqueConstraint(fields=('company', 'month'), name='closed_month_once'), models.CheckConstraint(condition=models.Q(('closing', django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(django.db.models.expressions.CombinedExpression(models.F('opening'), '+', models.F('bought')), '+', models.F('granted')), '-', models.F('withdrawn')), '-', models.F('spent')))), name='closed_month_adds_up')],
            },
        ),
        migrations.CreateModel(
            name='Document',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('closing', 'closing document'), ('advance', 'advance invoice')], max_length=8, verbose_name='kind')),
                ('year', models.PositiveSmallIntegerField(verbose_name='year')),
                ('serial', models.PositiveIntegerField(verbose_name='number')),
                ('issued_on', models.DateField(verbose_name='date')),
                ('month', models.DateField(blank=True, null=True, verbose_name='month')),
                ('tokens', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('amount', models.DecimalField(decimal_places=2, max_digits=14, verbose_name='amount')),
                ('vat', models.DecimalField(decimal_places=2, max_digits=14, null=True, verbose_name='VAT')),
                ('currency', models.CharField(max_length=3, verbose_name='currency')),
                ('language', models.CharField(max_length=2, verbose_name='language')),
                ('lines', models.JSONField(verbose_name='lines')),
                ('parties', models.JSONField(verbose_name='parties')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='issued')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='accounts.company', verbose_name='company')),
                ('order', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='documents', to='billing.order', verbose_name='top-up')),
            ],
            options={
                'verbose_name': 'document',
                'verbose_name_plural': 'documents',
                'indexes': [models.Index(models.F('company'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='document_of_company')],
                'constraints': [models.UniqueConstraint(fields=('year', 'serial'), name='document_number_once'), models.UniqueConstraint(condition=models.Q(('kind', 'closing')), fields=('company', 'month', 'currency'), name='document_closes_once'), models.UniqueConstraint(condition=models.Q(('kind', 'advance')), fields=('order',), name='document_advance_once'), models.CheckConstraint(condition=models.Q(models.Q(('kind', 'closing'), ('month__isnull', False), ('order__isnull', True)), models.Q(('kind', 'advance'), ('month__isnull', True), ('order__isnull', False)), _connector='OR'), name='document_of_month_or_order')],
            },
        ),
        migrations.CreateModel(
            name='Lot',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('transfer_key', models.CharField(max_length=80, verbose_name='transfer')),
                ('received_at', models.DateTimeField(verbose_name='received')),
                ('tokens', models.PositiveBigIntegerField(verbose_name='tokens')),
                ('used', models.PositiveBigIntegerField(default=0, verbose_name='used')),
                ('withdrawn', models.PositiveBigIntegerField(default=0, verbose_name='withdrawn')),
                ('amount', models.DecimalField(decimal_places=2, default=Decimal('0'), max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(blank=True, max_length=3, verbose_name='currency')),
                ('vat_rate', models.DecimalField(decimal_places=2, max_digits=4, null=True, verbose_name='VAT, %')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lots', to='accounts.company', verbose_name='company')),
                ('order', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='lots', to='billing.order', verbose_name='top-up')),
            ],
            options={
                'verbose_name': 'lot of tokens',
                'verbose_name_plural': 'lots of tokens',
                'indexes': [models.Index(fields=['company', 'received_at', 'id'], name='lot_of_company')],
                'constraints': [models.CheckConstraint(condition=models.Q(('tokens__gte', models.expressions.CombinedExpression(models.F('used'), '+', models.F('withdrawn')))), name='lot_has_no_more'), models.UniqueConstraint(fields=('transfer_key',), name='lot_once')],
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
            model_name='autotopup',
            index=models.Index(condition=models.Q(('is_enabled', True), ('paused_at', None)), fields=['company'], name='auto_top_up_active'),
        ),
        migrations.AddIndex(
            model_name='payment',
            index=models.Index(condition=models.Q(('settled_at', None), models.Q(('problem', ''), _negated=True)), fields=['created_at'], name='payment_needs_review'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(fields=('gateway', 'payment_id'), name='payment_once'),
        ),
        migrations.AddConstraint(
            model_name='payment',
            constraint=models.UniqueConstraint(condition=models.Q(('is_credited', True)), fields=('order',), name='payment_credits_order_once'),
        ),
        migrations.AddIndex(
            model_name='banktransfer',
            index=models.Index(condition=models.Q(('state', 'review')), fields=['id'], name='bank_transfer_waits'),
        ),
        migrations.AddConstraint(
            model_name='banktransfer',
            constraint=models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='bank_transfer_moves_money'),
        ),
        migrations.AddConstraint(
            model_name='banktransfer',
            constraint=models.UniqueConstraint(fields=('key',), name='bank_transfer_once'),
        ),
        migrations.AddConstraint(
            model_name='banktransfer',
            constraint=models.UniqueConstraint(condition=models.Q(('direction', 'in'), ('payment__isnull', False)), fields=('payment',), name='bank_transfer_of_payment_once'),
        ),
        migrations.AddIndex(
            model_name='refund',
            index=models.Index(condition=models.Q(('payment', None)), fields=['gateway', 'payment_reference'], name='refund_without_payment'),
        ),
        migrations.AddConstraint(
            model_name='refund',
            constraint=models.UniqueConstraint(fields=('gateway', 'refund_id'), name='refund_once'),
        ),
        migrations.AddConstraint(
            model_name='refund',
            constraint=models.CheckConstraint(condition=models.Q(('taken__lte', models.F('tokens'))), name='refund_takes_no_more'),
        ),
        migrations.AddIndex(
            model_name='seal',
            index=models.Index(fields=['day', 'id'], name='seal_newest'),
        ),
        migrations.AddConstraint(
            model_name='seal',
            constraint=models.UniqueConstraint(fields=('company', 'day'), name='seal_once'),
        ),
        migrations.AddConstraint(
            model_name='smsprice',
            constraint=models.UniqueConstraint(fields=('country', 'starts_at'), name='sms_price_once'),
        ),
        migrations.AddConstraint(
            model_name='smsprice',
            constraint=models.CheckConstraint(condition=models.Q(('tokens__isnull', True), models.Q(('tokens__gte', 1), ('tokens__lte', 1000)), _connector='OR'), name='sms_price_in_range'),
        ),
        migrations.AddConstraint(
            model_name='spentday',
            constraint=models.UniqueConstraint(fields=('day', 'company', 'country'), name='spent_day_once'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(fields=['company', 'created_at', 'id'], name='transfer_of_company'),
        ),
        migrations.AddIndex(
            model_name='transfer',
            index=models.Index(models.F('company'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('kind__in', ['top_up', 'grant', 'withdraw'])), name='transfer_external'),
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
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.UniqueConstraint(models.F('message_id'), models.F('hold'), models.ExpressionWrapper(models.Q(('kind', 'hold')), models.BooleanField()), name='transfer_hold_once'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.UniqueConstraint(condition=models.Q(('message_id__isnull', True)), fields=('key',), name='transfer_key_once'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('hold__isnull', True), ('key__isnull', False), ('message_id__isnull', True)), models.Q(('hold__isnull', False), ('message_id__isnull', False)), _connector='OR'), name='transfer_has_hold_or_key'),
        ),
        migrations.AddConstraint(
            model_name='transfer',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('balance_after__isnull', True), ('kind__in', ['hold', 'release'])), models.Q(('balance_after__isnull', False), ('kind__in', ['top_up', 'grant', 'withdraw', 'capture'])), _connector='OR'), name='transfer_has_balance'),
        ),
        migrations.AddConstraint(
            model_name='automaticorder',
            constraint=models.UniqueConstraint(fields=('company', 'day', 'number'), name='automatic_order_once'),
        ),
        migrations.RunPython(partition_by_month("billing_transfer"), migrations.RunPython.noop),
        migrations.RunPython(setting("billing_transfer"), migrations.RunPython.noop),
        RunSqlFile("billing/wallet/immutable_transfers.sql", "2558e35fd88edcd2"),
        RunSqlFile("billing/seals/immutable_seals.sql", "0a6f83543e9000fd"),
    ]
