"""Months closed for accounting, lots of tokens, and the documents issued."""

import config.ids
import django.db.models.deletion
import django.db.models.expressions
import django.db.models.functions.datetime
import django.utils.timezone
from django.db import migrations, models

SQUAWK_EXCEPTIONS = {"prefer-bigint-over-smallint": "a year has four digits"}


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0010_api_requests'),
        ('billing', '0017_refunds'),
    ]

    operations = [
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
        migrations.AddField(
            model_name='billingprofile',
            name='edo_id',
            field=models.CharField(blank=True, db_default='', default='', max_length=60, verbose_name='id in electronic document exchange'),
        ),
        migrations.AddField(
            model_name='seller',
            name='documents_since',
            field=models.DateField(blank=True, help_text='the first month for which documents are issued, by any of its days; empty: none are', null=True, verbose_name='closing documents since'),
        ),
        migrations.AddField(
            model_name='seller',
            name='edo_id',
            field=models.CharField(blank=True, db_default='', default='', help_text='as the exchange operator gave it: it goes into the names of XML documents', max_length=60, verbose_name='id in electronic document exchange'),
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
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
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
                ('taken', models.PositiveBigIntegerField(default=0, verbose_name='used or withdrawn')),
                ('amount', models.DecimalField(decimal_places=2, default=0, max_digits=14, verbose_name='amount')),
                ('currency', models.CharField(blank=True, max_length=3, verbose_name='currency')),
                ('vat_rate', models.DecimalField(decimal_places=2, max_digits=4, null=True, verbose_name='VAT, %')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='lots', to='accounts.company', verbose_name='company')),
                ('order', models.ForeignKey(blank=True, db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='lots', to='billing.order', verbose_name='top-up')),
            ],
            options={
                'verbose_name': 'lot of tokens',
                'verbose_name_plural': 'lots of tokens',
                'indexes': [models.Index(fields=['company', 'received_at', 'id'], name='lot_of_company')],
                'constraints': [models.CheckConstraint(condition=models.Q(('taken__lte', models.F('tokens'))), name='lot_has_no_more'), models.UniqueConstraint(fields=('transfer_key',), name='lot_once')],
            },
        ),
    ]
