import catalogue.channels
import catalogue.ids
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
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
            name='Contact',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('phone', models.CharField(max_length=16, verbose_name='phone')),
                ('chat_id', models.BigIntegerField(verbose_name='chat')),
                ('shared_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='shared')),
                ('confirmed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='number confirmed')),
                ('blocked_at', models.DateTimeField(null=True, verbose_name='blocked the bot')),
            ],
            options={
                'verbose_name': 'bot contact',
                'verbose_name_plural': 'bot contacts',
                'constraints': [models.UniqueConstraint(fields=('phone', 'provider'), name='contact_phone_once'), models.UniqueConstraint(fields=('chat_id', 'provider'), name='contact_chat_once')],
            },
        ),
        migrations.CreateModel(
            name='CountedDay',
            fields=[
                ('day', models.DateField(primary_key=True, serialize=False)),
                ('counted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='Heartbeat',
            fields=[
                ('process', models.CharField(max_length=120, primary_key=True, serialize=False)),
                ('kind', models.CharField(choices=[('web', 'web'), ('delivery', 'delivery'), ('beat', 'beat'), ('smpp', 'SMPP')], max_length=40)),
                ('at', models.DateTimeField()),
                ('details', models.JSONField(default=dict)),
            ],
            options={
                'verbose_name': 'heartbeat',
                'verbose_name_plural': 'heartbeats',
            },
        ),
        migrations.CreateModel(
            name='Message',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('kind', models.CharField(choices=[('code', 'code'), ('link', 'link')], max_length=4, verbose_name='kind')),
                ('content', models.CharField(max_length=16, verbose_name='content')),
                ('channel', models.CharField(choices=catalogue.channels.choices, max_length=8, verbose_name='channel')),
                ('chain', models.JSONField(default=list, verbose_name='channels left to try')),
                ('phone', models.CharField(max_length=16, verbose_name='phone')),
                ('subject_id', models.UUIDField(verbose_name='subject')),
                ('params', models.JSONField(default=dict, verbose_name='parameters')),
                ('locale', models.CharField(max_length=35, verbose_name='language')),
                ('request_id', models.CharField(blank=True, max_length=40, verbose_name='request id')),
                ('reference', models.CharField(blank=True, db_default='', max_length=64, verbose_name='reference')),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sent', 'sent'), ('delivered', 'delivered'), ('failed', 'failed'), ('expired', 'expired')], db_default='queued', default='queued', max_length=9, verbose_name='state')),
                ('is_undelivered', models.BooleanField(db_default=False, default=False, editable=False)),
                ('error', models.CharField(blank=True, db_default='', max_length=30, verbose_name='error')),
                ('tries', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='tries')),
                ('hold', models.PositiveSmallIntegerField(db_default=1, default=1, verbose_name='hold number')),
                ('price', models.PositiveIntegerField(verbose_name='price')),
                ('segments', models.PositiveSmallIntegerField(db_default=1, default=1, verbose_name='segments')),
                ('priority', models.PositiveSmallIntegerField(default=0, verbose_name='priority')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True, verbose_name='due')),
                ('useful_until', models.DateTimeField(verbose_name='useful until')),
                ('deadline', models.DateTimeField(verbose_name='deadline')),
                ('fallback_at', models.DateTimeField(null=True, verbose_name='falls back at')),
                ('is_owed', models.BooleanField(db_default=False, default=False, verbose_name='settlement pending')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
                ('delivered_at', models.DateTimeField(null=True, verbose_name='delivered')),
                ('read_at', models.DateTimeField(null=True, verbose_name='read')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('api_key', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='messages', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'message',
                'verbose_name_plural': 'messages',
            },
        ),
        migrations.CreateModel(
            name='StaleDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('company_id', models.BigIntegerField()),
                ('mode', models.CharField(max_length=4)),
                ('day', models.DateField()),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
        ),
        migrations.CreateModel(
            name='BlockedPhone',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('phone', models.CharField(max_length=16, unique=True, verbose_name='phone')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('said_stop', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='said STOP')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'blocked phone',
                'verbose_name_plural': 'blocked phones',
                'constraints': [models.CheckConstraint(condition=models.Q(('phone__regex', '^\\+[0-9]{5,15}$')), name='blocked_phone_is_e164')],
            },
        ),
        migrations.CreateModel(
            name='KnownRecipient',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('vendor', models.CharField(max_length=20)),
                ('user_id', models.CharField(max_length=150)),
                ('attempt_id', models.UUIDField()),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('vendor', 'user_id'), name='known_recipient_once')],
            },
        ),
        migrations.CreateModel(
            name='FallbackEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(max_length=12)),
                ('channel', models.CharField(choices=catalogue.channels.choices, max_length=8, verbose_name='channel')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('message', models.ForeignKey(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, related_name='fallback_events', to='channels.message')),
            ],
            options={
                'verbose_name': 'fallback event',
                'verbose_name_plural': 'fallback events',
            },
        ),
        migrations.CreateModel(
            name='Attempt',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('n', models.PositiveSmallIntegerField(verbose_name='number')),
                ('hold', models.PositiveSmallIntegerField(default=1, verbose_name='hold number')),
                ('price', models.PositiveIntegerField(db_default=0, default=0, verbose_name='price')),
                ('channel', models.CharField(choices=catalogue.channels.choices, max_length=8, verbose_name='channel')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('provider_id', models.CharField(max_length=200, null=True, verbose_name="provider's id")),
                ('state', models.CharField(choices=[('submitting', 'being handed over'), ('ambiguous', 'outcome unknown'), ('sent', 'accepted'), ('delivered', 'delivered'), ('failed', 'refused'), ('expired', 'expired')], max_length=10, verbose_name='state')),
                ('error_class', models.CharField(blank=True, db_default='', max_length=12, verbose_name='kind of error')),
                ('error_code', models.CharField(blank=True, db_default='', max_length=60, verbose_name="provider's code")),
                ('error_detail', models.CharField(blank=True, db_default='', max_length=300, verbose_name="provider's message")),
                ('started_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='started')),
                ('lease_until', models.DateTimeField(null=True, verbose_name='lease until')),
                ('accepted_at', models.DateTimeField(null=True, verbose_name='accepted')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('poll_at', models.DateTimeField(null=True, verbose_name='next poll')),
                ('polls', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='polls')),
                ('message', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='channels.message', verbose_name='message')),
            ],
            options={
                'verbose_name': 'attempt',
                'verbose_name_plural': 'attempts',
            },
        ),
        migrations.CreateModel(
            name='Part',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveSmallIntegerField()),
                ('total', models.PositiveSmallIntegerField()),
                ('provider', models.CharField(max_length=40)),
                ('provider_id', models.CharField(max_length=200)),
                ('delivered_at', models.DateTimeField(null=True)),
                ('attempt', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='channels.attempt')),
            ],
        ),
        migrations.CreateModel(
            name='ProviderAccount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(editable=False, max_length=40, unique=True, verbose_name='name')),
                ('is_enabled', models.BooleanField(db_default=True, default=True, verbose_name='enabled')),
                ('position', models.PositiveSmallIntegerField(db_default=0, default=0, help_text='The smallest number is tried first.', verbose_name='sequence number')),
                ('weight', models.PositiveSmallIntegerField(db_default=1, default=1, help_text='Accounts with the same sequence number share messages in this proportion.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(1000)], verbose_name='share of messages')),
                ('is_share_fixed', models.BooleanField(db_default=False, default=False, help_text='Otherwise messages move to the accounts whose codes are entered more often.', verbose_name='keep the share')),
                ('prefixes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=16, validators=[django.core.validators.RegexValidator('^\\+[1-9][0-9]{0,14}$', 'A plus and digits, such as +7701.')]), blank=True, db_default=[], default=list, help_text='Prefixes separated by commas, such as +7701, +7702. Leave empty for every phone.', size=200, verbose_name='phones')),
                ('max_per_second', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(10000)], verbose_name='messages per second, at most')),
                ('pause_reason', models.CharField(blank=True, db_default='', editable=False, max_length=200)),
                ('is_paused_with_channel', models.BooleanField(db_default=False, default=False, editable=False)),
                ('credentials', models.TextField(blank=True, db_default='', default='', editable=False)),
                ('credentials_changed_at', models.DateTimeField(editable=False, null=True)),
                ('share_factor', models.FloatField(db_default=1.0, default=1.0, editable=False)),
                ('opened_at', models.DateTimeField(editable=False, null=True, verbose_name='breaker opened')),
                ('open_until', models.DateTimeField(editable=False, null=True)),
                ('probed_at', models.DateTimeField(editable=False, null=True)),
                ('trips', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('reason', models.CharField(blank=True, db_default='', editable=False, max_length=200)),
                ('tat', models.DateTimeField(editable=False, null=True)),
            ],
            options={
                'verbose_name': 'provider account',
                'verbose_name_plural': 'provider accounts',
                'constraints': [models.CheckConstraint(condition=models.Q(('weight__gte', 1)), name='account_weight'), models.CheckConstraint(condition=models.Q(('max_per_second__isnull', True), ('max_per_second__gte', 1), _connector='OR'), name='account_rate')],
            },
        ),
        migrations.CreateModel(
            name='ProviderAlert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('code', models.CharField(max_length=60, verbose_name="provider's code")),
                ('detail', models.CharField(blank=True, max_length=300, verbose_name="provider's message")),
                ('kind', models.CharField(max_length=9)),
                ('first_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='first received')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='last received')),
                ('times', models.PositiveIntegerField(db_default=1, default=1, verbose_name='times')),
            ],
            options={
                'verbose_name': "provider's alert",
                'verbose_name_plural': "providers' alerts",
                'constraints': [models.UniqueConstraint(fields=('provider', 'code', 'detail'), name='provider_alert_once')],
            },
        ),
        migrations.CreateModel(
            name='Receipt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('provider_id', models.CharField(blank=True, max_length=200, verbose_name="provider's id")),
                ('alternatives', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=200), db_default=[], default=list, size=None, verbose_name='other ids')),
                ('phone', models.CharField(blank=True, db_default='', max_length=16, verbose_name='phone')),
                ('needs_phone', models.BooleanField(db_default=False, default=False, verbose_name='counts only for its phone')),
                ('ref', models.UUIDField(null=True, verbose_name='our reference')),
                ('state', models.CharField(max_length=12, verbose_name='state')),
                ('vendor_status', models.CharField(max_length=40, verbose_name="provider's status")),
                ('error_code', models.CharField(blank=True, max_length=60, verbose_name="provider's code")),
                ('error_detail', models.CharField(blank=True, max_length=300, verbose_name="provider's message")),
                ('at', models.DateTimeField(null=True, verbose_name="provider's time")),
                ('received_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='received')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True, verbose_name='due')),
                ('applied_at', models.DateTimeField(null=True, verbose_name='applied')),
                ('raw', models.BinaryField()),
                ('attempt', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='receipts', to='channels.attempt', verbose_name='attempt')),
            ],
            options={
                'verbose_name': 'receipt',
                'verbose_name_plural': 'receipts',
            },
        ),
        migrations.CreateModel(
            name='RememberedPhone',
            fields=[
                ('phone_hash', models.BinaryField(max_length=16, primary_key=True, serialize=False)),
                ('key_id', models.CharField(db_default='', default='', max_length=8)),
                ('traces', models.JSONField(default=dict)),
                ('seen_at', models.DateTimeField()),
            ],
            options={
                'indexes': [models.Index(fields=['seen_at'], name='remembered_phone_seen'), models.Index(fields=['key_id'], name='remembered_phone_key')],
            },
        ),
        migrations.CreateModel(
            name='RouteDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('country', models.CharField(blank=True, max_length=2)),
                ('arm', models.CharField(choices=[('smart', 'Smart'), ('hold_out', 'Hold Out')], max_length=8)),
                ('codes', models.PositiveBigIntegerField(default=0)),
                ('entered', models.PositiveBigIntegerField(default=0)),
                ('tokens', models.PositiveBigIntegerField(default=0)),
                ('tokens_squared', models.PositiveBigIntegerField(default=0)),
                ('seconds', models.FloatField(default=0.0)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
        ),
        migrations.CreateModel(
            name='RouterState',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('version', models.PositiveBigIntegerField(default=0)),
                ('learned_until', models.DateTimeField()),
                ('counted_until', models.DateTimeField(null=True)),
                ('state', models.JSONField(default=dict)),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='router_state_one_row')],
            },
        ),
        migrations.CreateModel(
            name='VendorApproval',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('provider', models.CharField(max_length=40, verbose_name='provider')),
                ('kind', models.CharField(choices=[('template', 'template'), ('sender', 'sender'), ('campaign', 'campaign')], max_length=8, verbose_name='kind')),
                ('name', models.CharField(max_length=120, verbose_name='name')),
                ('language', models.CharField(blank=True, max_length=10, verbose_name='language')),
                ('status', models.CharField(choices=[('approved', 'approved'), ('pending', 'under review'), ('rejected', 'rejected'), ('paused', 'paused'), ('disabled', 'disabled'), ('missing', 'the vendor has none of this name')], max_length=8, verbose_name='state')),
                ('vendor_status', models.CharField(blank=True, max_length=40, verbose_name="provider's status")),
                ('quality', models.CharField(blank=True, max_length=20, verbose_name='quality')),
                ('reason', models.CharField(blank=True, max_length=300, verbose_name='reason')),
                ('is_used', models.BooleanField(default=False, verbose_name='used by this account')),
                ('changed_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='since')),
                ('seen_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='last checked')),
            ],
            options={
                'verbose_name': 'approval by a provider',
                'verbose_name_plural': 'approvals by providers',
                'constraints': [models.UniqueConstraint(fields=('provider', 'kind', 'name', 'language'), name='vendor_approval_once')],
            },
        ),
        migrations.CreateModel(
            name='DayBreakdown',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4)),
                ('day', models.DateField()),
                ('dimension', models.CharField(choices=[('channel', 'channel'), ('country', 'country'), ('purpose', 'purpose'), ('api_key', 'API key')], max_length=7)),
                ('value', models.CharField(blank=True, max_length=64)),
                ('is_rest', models.BooleanField(default=False)),
                ('requested', models.PositiveIntegerField()),
                ('handed_over', models.PositiveIntegerField()),
                ('delivered', models.PositiveIntegerField()),
                ('linked', models.PositiveIntegerField()),
                ('opened', models.PositiveIntegerField()),
                ('codes', models.PositiveIntegerField()),
                ('entered', models.PositiveIntegerField()),
                ('charged', models.PositiveIntegerField()),
                ('spent', models.PositiveBigIntegerField()),
                ('returned', models.PositiveBigIntegerField(default=0)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('company', 'mode', 'dimension', 'day', 'value', 'is_rest'), name='day_breakdown_once')],
            },
        ),
        migrations.CreateModel(
            name='DayCount',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4)),
                ('day', models.DateField()),
                ('channel', models.CharField(choices=catalogue.channels.choices, max_length=8)),
                ('kind', models.CharField(choices=[('code', 'code'), ('link', 'link')], max_length=4)),
                ('state', models.CharField(choices=[('queued', 'queued'), ('sent', 'sent'), ('delivered', 'delivered'), ('failed', 'failed'), ('expired', 'expired')], max_length=9)),
                ('pace', models.PositiveIntegerField()),
                ('messages', models.PositiveIntegerField()),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('company', 'mode', 'day', 'channel', 'kind', 'state', 'pace'), name='day_count_once')],
            },
        ),
        migrations.CreateModel(
            name='DeliveryDrop',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('channel', models.CharField(choices=catalogue.channels.choices, max_length=8)),
                ('share', models.FloatField()),
                ('usual', models.FloatField()),
                ('began_at', models.DateTimeField()),
                ('seen_at', models.DateTimeField()),
                ('ended_at', models.DateTimeField(null=True)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='delivery_drops', to='accounts.company')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('ended_at__isnull', False)), fields=['ended_at'], name='delivery_drop_ended')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('company', 'channel'), name='delivery_drop_open_once')],
            },
        ),
        migrations.CreateModel(
            name='OpenMessage',
            fields=[
                ('message', models.OneToOneField(db_constraint=False, on_delete=django.db.models.deletion.CASCADE, primary_key=True, related_name='open_message', serialize=False, to='channels.message')),
                ('priority', models.PositiveSmallIntegerField(db_default=0)),
                ('due_at', models.DateTimeField(null=True)),
                ('useful_until', models.DateTimeField()),
                ('deadline', models.DateTimeField()),
                ('fallback_at', models.DateTimeField(null=True)),
                ('attempt_id', models.UUIDField(null=True)),
                ('route_key', models.TextField()),
            ],
            options={
                'indexes': [models.Index(models.F('priority'), models.F('due_at'), condition=models.Q(('due_at__isnull', False)), name='open_message_due'), models.Index(fields=['deadline'], name='open_message_deadline'), models.Index(condition=models.Q(('fallback_at__isnull', False)), fields=['fallback_at'], name='open_message_fallback')],
            },
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['company', 'mode', 'created_at', 'id'], name='message_of_company'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['phone', 'created_at'], name='message_phone'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(fields=['subject_id'], name='message_subject'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('reference', ''), _negated=True), fields=['company', 'mode', 'reference', 'created_at', 'id'], name='message_reference'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('phone__endswith', '*'), _negated=True), fields=['created_at'], name='message_with_phone'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('is_undelivered', True)), fields=['company', 'mode', 'created_at', 'id'], name='message_is_undelivered'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(condition=models.Q(('lease_until__isnull', False)), fields=['lease_until'], name='attempt_leased'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(condition=models.Q(('poll_at__isnull', False)), fields=['poll_at'], name='attempt_poll'),
        ),
        migrations.AddIndex(
            model_name='attempt',
            index=models.Index(fields=['started_at'], name='attempt_started'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(fields=('message', 'n'), name='attempt_number'),
        ),
        migrations.AddConstraint(
            model_name='attempt',
            constraint=models.UniqueConstraint(condition=models.Q(('provider_id__isnull', False)), fields=('provider', 'provider_id'), name='attempt_provider_id'),
        ),
        migrations.AddConstraint(
            model_name='part',
            constraint=models.UniqueConstraint(fields=('attempt', 'number'), name='part_number'),
        ),
        migrations.AddConstraint(
            model_name='part',
            constraint=models.UniqueConstraint(fields=('provider', 'provider_id'), name='part_provider_id'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='receipt_due'),
        ),
        migrations.AddIndex(
            model_name='receipt',
            index=models.Index(fields=['received_at'], name='receipt_received'),
        ),
        migrations.AddIndex(
            model_name='routeday',
            index=models.Index(fields=['day'], name='route_day_day'),
        ),
        migrations.AddConstraint(
            model_name='routeday',
            constraint=models.UniqueConstraint(fields=('company', 'day', 'country', 'arm'), name='route_day_once'),
        ),
        migrations.RunPython(partition_by_month("channels_message", "channels_attempt", "channels_receipt"), migrations.RunPython.noop),
        migrations.RunPython(setting("channels_message", "channels_attempt", "channels_receipt", "channels_openmessage"), migrations.RunPython.noop),
        RunSqlFile("channels/deliver/open_messages.sql", "1191e128693324fc"),
    ]
