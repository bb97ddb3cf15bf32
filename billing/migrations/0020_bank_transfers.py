"""Lines of the bank account's statement, and until when it was read."""
import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('billing', '0019_key_tokens'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
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
                ('problem', models.CharField(blank=True, choices=[('unknown_order', 'names no invoice or top-up of ours'), ('several', 'names several invoices'), ('wrong_amount', 'another amount'), ('wrong_currency', 'another currency'), ('wrong_payer', 'another payer than the invoice names'), ('second', 'the invoice was paid already'), ('canceled', 'the invoice was canceled'), ('refund', 'money went back: take the tokens back?')], max_length=16, verbose_name='problem')),
                ('settled_at', models.DateTimeField(blank=True, null=True, verbose_name='settled')),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='time')),
                ('order', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bank_transfers', to='billing.order', verbose_name='top-up')),
                ('payment', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.PROTECT, related_name='bank_transfers', to='billing.payment', verbose_name='payment')),
                ('settled_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='settled by')),
            ],
            options={
                'verbose_name': 'bank transfer',
                'verbose_name_plural': 'bank transfers',
                'indexes': [models.Index(condition=models.Q(('state', 'review')), fields=['id'], name='bank_transfer_waits')],
                'constraints': [models.CheckConstraint(condition=models.Q(('amount__gt', 0)), name='bank_transfer_moves_money'), models.UniqueConstraint(fields=('key',), name='bank_transfer_once'), models.UniqueConstraint(condition=models.Q(('direction', 'in'), ('payment__isnull', False)), fields=('payment',), name='bank_transfer_of_payment_once')],
            },
        ),
    ]
