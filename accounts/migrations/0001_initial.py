import accounts.models.roles
import catalogue.channels
import catalogue.ids
import catalogue.languages.message_languages
import catalogue.languages.page_languages
import django.contrib.postgres.fields
import django.core.validators
import django.db.models.deletion
import django.db.models.functions.datetime
import django.db.models.functions.text
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models

from storage.schema_changes.operations import RunSqlFile
from storage.months.new_tables import build_indexes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('auth', '0012_alter_user_first_name_max_length'),
    ]

    operations = [
        migrations.CreateModel(
            name='CacheEntry',
            fields=[
                ('key', models.CharField(max_length=260, primary_key=True, serialize=False)),
                ('value', models.JSONField()),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
            options={
                'verbose_name': 'cache entry',
                'verbose_name_plural': 'cache entries',
            },
        ),
        migrations.CreateModel(
            name='User',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('password', models.CharField(max_length=128, verbose_name='password')),
                ('last_login', models.DateTimeField(blank=True, null=True, verbose_name='last login')),
                ('is_superuser', models.BooleanField(default=False, help_text='Designates that this user has all permissions without explicitly assigning them.', verbose_name='superuser status')),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail')),
                ('name', models.CharField(blank=True, max_length=150, verbose_name='name')),
                ('language', models.CharField(choices=catalogue.languages.page_languages.choices, default='ru', max_length=2, verbose_name='language')),
                ('time_zone', models.CharField(blank=True, db_default='', default='', max_length=64, verbose_name='time zone')),
                ('has_shortcuts', models.BooleanField(db_default=True, default=True, verbose_name='keyboard shortcuts')),
                ('muted_notices', models.JSONField(db_default=[], default=list, editable=False)),
                ('is_staff', models.BooleanField(default=False, verbose_name='operator')),
                ('is_staff_from_provider', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='operator by the identity provider')),
                ('is_active', models.BooleanField(default=True, verbose_name='active')),
                ('date_joined', models.DateTimeField(default=django.utils.timezone.now, verbose_name='joined')),
                ('session_generation', models.PositiveIntegerField(db_default=0, default=0, editable=False)),
                ('groups', models.ManyToManyField(blank=True, help_text='The groups this user belongs to. A user will get all permissions granted to each of their groups.', related_name='user_set', related_query_name='user', to='auth.group', verbose_name='groups')),
                ('user_permissions', models.ManyToManyField(blank=True, help_text='Specific permissions for this user.', related_name='user_set', related_query_name='user', to='auth.permission', verbose_name='user permissions')),
            ],
            options={
                'verbose_name': 'user',
                'verbose_name_plural': 'users',
            },
        ),
        migrations.CreateModel(
            name='ApiKey',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('name', models.CharField(max_length=60, verbose_name='name')),
                ('prefix', models.CharField(max_length=16, verbose_name='begins with')),
                ('last4', models.CharField(max_length=4, verbose_name='ends with')),
                ('digest', models.BinaryField(max_length=32, unique=True)),
                ('scopes', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), default=accounts.models.roles.every_scope, size=None, verbose_name='scopes')),
                ('allowed_ips', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=43), blank=True, default=list, help_text='addresses or networks; leave empty to allow any', size=None, verbose_name='allowed IP addresses')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('revoked_at', models.DateTimeField(blank=True, null=True, verbose_name='revoked')),
                ('purpose', models.CharField(blank=True, db_default='', default='', max_length=64, verbose_name='purpose')),
                ('public_key', models.TextField(blank=True, db_default='', default='', verbose_name='public key')),
                ('day_limit', models.PositiveBigIntegerField(blank=True, null=True, verbose_name='tokens per day')),
                ('last_used_at', models.DateTimeField(blank=True, null=True, verbose_name='last used')),
                ('created_by', models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='created by')),
            ],
            options={
                'verbose_name': 'API key',
                'verbose_name_plural': 'API keys',
                'ordering': ['-created_at', '-id'],
            },
        ),
        migrations.CreateModel(
            name='Company',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('name', models.CharField(max_length=120, verbose_name='Company name')),
                ('status', models.CharField(choices=[('pending', 'waiting for approval'), ('approved', 'approved'), ('suspended', 'suspended')], default='pending', max_length=10, verbose_name='status')),
                ('country', models.CharField(default='RU', help_text='ISO 3166 code, such as RU or KZ', max_length=2, verbose_name='Country')),
                ('language', models.CharField(choices=catalogue.languages.message_languages.choices, default='ru', max_length=35, verbose_name='Message language')),
                ('brand', models.CharField(blank=True, help_text='leave empty for the company name', max_length=30, verbose_name='Brand in messages')),
                ('default_channel', models.CharField(blank=True, choices=catalogue.channels.choices, max_length=10, verbose_name='Default channel')),
                ('code_length', models.PositiveSmallIntegerField(default=6, validators=[django.core.validators.MinValueValidator(4), django.core.validators.MaxValueValidator(8)], verbose_name='Digits in a code')),
                ('allowed_countries', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=2), blank=True, default=list, help_text="leave empty for the company's own", size=None, verbose_name='Allowed countries')),
                ('all_countries', models.BooleanField(db_default=False, default=False, verbose_name='Send to every country')),
                ('budgets', models.JSONField(db_default={}, default=dict, editable=False)),
                ('default_link_lifetime', models.PositiveIntegerField(blank=True, null=True, verbose_name='default link lifetime, seconds')),
                ('api_rate', models.PositiveIntegerField(blank=True, null=True, verbose_name='API requests per 10 s and key')),
                ('cool_down', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Seconds between two codes')),
                ('codes_per_10_min', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Codes in 10 minutes')),
                ('codes_per_hour', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Codes in an hour')),
                ('codes_per_day', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Codes in 24 hours')),
                ('links_per_10_min', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Links in 10 minutes')),
                ('links_per_day', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Links in 24 hours')),
                ('falls_back', models.BooleanField(db_default=False, default=False, verbose_name='Fall back to the next channel when the first does not deliver')),
                ('fallback_chain', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=10), blank=True, db_default=[], default=list, size=None, verbose_name='Order of channels')),
                ('patience', models.JSONField(db_default={}, default=dict, editable=False)),
                ('fallback_max_cost', models.PositiveIntegerField(blank=True, null=True, validators=[django.core.validators.MinValueValidator(1)], verbose_name='Price cap, tokens')),
                ('policy', models.JSONField(db_default=[], default=list, editable=False)),
                ('guard_mode', models.CharField(choices=[('off', 'off'), ('watch', 'monitoring only'), ('enforce', 'hold back')], db_default='watch', default='enforce', max_length=7, verbose_name='protection against SMS pumping')),
                ('guard_watches_others', models.BooleanField(db_default=True, default=True, verbose_name='stricter where other companies are attacked')),
                ('guard_restrictions', models.JSONField(db_default=[], default=list, editable=False)),
                ('link_host', models.CharField(blank=True, db_default='', default='', max_length=253, verbose_name='Host for new short links')),
                ('link_targets', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=253), blank=True, db_default=[], default=list, size=None, verbose_name='Sites that links may lead to')),
                ('link_utm', models.CharField(blank=True, db_default='', default='', max_length=300, verbose_name='Tags added to targets')),
                ('link_expired_url', models.TextField(blank=True, db_default='', default='', verbose_name='Where links lead once they have expired')),
                ('requires_second_factor', models.BooleanField(db_default=False, default=False, verbose_name='Require two-step sign-in from every member')),
                ('closes_at', models.DateTimeField(editable=False, null=True, verbose_name='to be deleted')),
                ('deleted_at', models.DateTimeField(editable=False, null=True, verbose_name='deleted')),
                ('erased_at', models.DateTimeField(editable=False, null=True, verbose_name='erased')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
            ],
            options={
                'verbose_name': 'company',
                'verbose_name_plural': 'companies',
                'indexes': [models.Index(condition=models.Q(('closes_at__isnull', False), ('erased_at__isnull', True)), fields=['closes_at'], name='company_closing')],
                'constraints': [models.CheckConstraint(condition=models.Q(('code_length__gte', 4), ('code_length__lte', 8)), name='company_code_length')],
            },
        ),
        migrations.CreateModel(
            name='AuditEvent',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('actor', models.CharField(db_default='', default='', max_length=254, verbose_name='e-mail at the time')),
                ('action', models.CharField(max_length=40, verbose_name='action')),
                ('subject', models.CharField(max_length=200, verbose_name='subject')),
                ('changes', models.JSONField(null=True, verbose_name='old and new values')),
                ('ip', models.GenericIPAddressField(null=True, verbose_name='IP address')),
                ('by_operator', models.BooleanField(db_default=False, default=False, verbose_name='by the operator of the service')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('user', models.ForeignKey(db_constraint=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='user')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.DO_NOTHING, related_name='audit', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'audit event',
                'verbose_name_plural': 'audit events',
            },
        ),
        migrations.AddField(
            model_name='apikey',
            name='company',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='api_keys', to='accounts.company', verbose_name='company'),
        ),
        migrations.CreateModel(
            name='CompanyChange',
            fields=[
                ('pk', models.CompositePrimaryKey('transaction_id', 'company_id', blank=True, editable=False, primary_key=True, serialize=False)),
                ('transaction_id', models.BigIntegerField()),
                ('company_id', models.BigIntegerField()),
            ],
            options={
                'verbose_name': 'company change',
                'verbose_name_plural': 'company changes',
                'indexes': [models.Index(fields=['company_id'], name='company_change_of_company')],
            },
        ),
        migrations.CreateModel(
            name='Invitation',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('email', models.EmailField(max_length=254, verbose_name='e-mail')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('developer', 'developer'), ('accountant', 'accountant'), ('viewer', 'viewer')], max_length=10, verbose_name='role')),
                ('sent_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='sent')),
                ('accepted_at', models.DateTimeField(null=True, verbose_name='accepted')),
                ('revoked_at', models.DateTimeField(null=True, verbose_name='called off')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='invitations', to='accounts.company')),
                ('invited_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'invitation',
                'verbose_name_plural': 'invitations',
            },
        ),
        migrations.CreateModel(
            name='JobFailure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('job', models.CharField(max_length=40, verbose_name='job')),
                ('subject', models.CharField(max_length=80, verbose_name='subject')),
                ('tries', models.PositiveIntegerField(default=0, verbose_name='tries')),
                ('error', models.CharField(max_length=80, verbose_name='error')),
                ('failed_at', models.DateTimeField(verbose_name='last failed')),
                ('due_at', models.DateTimeField(verbose_name='next try')),
                ('gave_up_at', models.DateTimeField(null=True, verbose_name='given up')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'failed work',
                'verbose_name_plural': 'failed work',
            },
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('template', models.CharField(max_length=60, verbose_name='template')),
                ('to', models.EmailField(max_length=254, verbose_name='to')),
                ('subject', models.CharField(max_length=255, verbose_name='subject')),
                ('text', models.TextField()),
                ('html', models.TextField(blank=True)),
                ('unsubscribe_url', models.CharField(blank=True, db_default='', default='', max_length=500)),
                ('key', models.CharField(max_length=120, null=True, unique=True)),
                ('tries', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='tries')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True, verbose_name='next try')),
                ('error', models.CharField(blank=True, db_default='', max_length=200, verbose_name='error')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
            ],
            options={
                'verbose_name': 'outgoing e-mail',
                'verbose_name_plural': 'outgoing e-mails',
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='mail_due'), models.Index(fields=['created_at'], name='mail_created'), models.Index(fields=['key'], name='mail_key_prefix', opclasses=['varchar_pattern_ops'])],
            },
        ),
        migrations.CreateModel(
            name='Member',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('role', models.CharField(choices=[('owner', 'owner'), ('developer', 'developer'), ('accountant', 'accountant'), ('viewer', 'viewer')], max_length=10, verbose_name='role')),
                ('from_provider', models.BooleanField(db_default=False, default=False, editable=False, verbose_name='by the identity provider')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='created')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='members', to='accounts.company', verbose_name='company')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='memberships', to=settings.AUTH_USER_MODEL, verbose_name='user')),
            ],
            options={
                'verbose_name': 'member',
                'verbose_name_plural': 'members',
            },
        ),
        migrations.CreateModel(
            name='SavedFilter',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('page', models.CharField(choices=[('messages', 'Messages'), ('requests', 'Requests')], max_length=10, verbose_name='list')),
                ('name', models.CharField(max_length=40, verbose_name='name')),
                ('query', models.CharField(max_length=1000, verbose_name='query')),
                ('is_default', models.BooleanField(db_default=False, default=False, verbose_name='opened first')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='saved_filters', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'saved filter',
                'verbose_name_plural': 'saved filters',
                'ordering': ['name', 'id'],
            },
        ),
        migrations.CreateModel(
            name='CsvExport',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('language', models.CharField(max_length=2)),
                ('state', models.CharField(choices=[('running', 'being made'), ('ready', 'ready'), ('stopped', 'stopped'), ('failed', 'failed')], default='running', max_length=7, verbose_name='state')),
                ('rows', models.PositiveIntegerField(default=0, verbose_name='rows')),
                ('reached_at', models.DateTimeField(null=True)),
                ('reached_id', models.CharField(blank=True, max_length=36)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='requested')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('kind', models.CharField(max_length=20)),
                ('query', models.TextField(blank=True, verbose_name='filter')),
                ('role', models.CharField(max_length=10)),
                ('percent', models.PositiveSmallIntegerField(default=0)),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'list export',
                'verbose_name_plural': 'list exports',
            },
        ),
        migrations.CreateModel(
            name='CsvExportPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('body', models.BinaryField()),
                ('export', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='accounts.csvexport')),
            ],
        ),
        migrations.CreateModel(
            name='UserSession',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('session_key', models.CharField(max_length=40, unique=True)),
                ('ip', models.GenericIPAddressField(null=True, verbose_name='IP address')),
                ('user_agent', models.CharField(blank=True, max_length=300)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='created')),
                ('last_seen_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='last seen')),
                ('failed_attempts', models.PositiveSmallIntegerField(default=0)),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='sessions', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'session',
                'verbose_name_plural': 'sessions',
            },
        ),
        migrations.AddConstraint(
            model_name='user',
            constraint=models.UniqueConstraint(django.db.models.functions.text.Lower('email'), name='user_email_unique'),
        ),
        migrations.AddIndex(
            model_name='auditevent',
            index=models.Index(fields=['company', '-created_at'], name='audit_of_company'),
        ),
        migrations.AddConstraint(
            model_name='apikey',
            constraint=models.CheckConstraint(condition=models.Q(models.Q(('purpose', ''), models.Q(('scopes__contains', ['verify']), _negated=True)), models.Q(models.Q(('purpose', ''), _negated=True), ('scopes', ['verify'])), _connector='OR'), name='api_key_kind'),
        ),
        migrations.AddIndex(
            model_name='csvexport',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['created_at'], name='export_running'),
        ),
        migrations.AddConstraint(
            model_name='csvexportpart',
            constraint=models.UniqueConstraint(fields=('export', 'number'), name='export_part_once'),
        ),
        migrations.AddConstraint(
            model_name='invitation',
            constraint=models.UniqueConstraint(models.F('company'), django.db.models.functions.text.Lower('email'), condition=models.Q(('accepted_at__isnull', True), ('revoked_at__isnull', True)), name='invitation_once'),
        ),
        migrations.AddConstraint(
            model_name='jobfailure',
            constraint=models.UniqueConstraint(fields=('job', 'subject'), name='job_failure_once'),
        ),
        migrations.AddConstraint(
            model_name='member',
            constraint=models.UniqueConstraint(fields=('company', 'user'), name='member_once_per_company'),
        ),
        migrations.AddConstraint(
            model_name='savedfilter',
            constraint=models.UniqueConstraint(models.F('user'), models.F('company'), models.F('page'), django.db.models.functions.text.Lower('name'), name='saved_filter_once'),
        ),
        migrations.AddConstraint(
            model_name='savedfilter',
            constraint=models.UniqueConstraint(condition=models.Q(('is_default', True)), fields=('user', 'company', 'page'), name='saved_filter_one_default'),
        ),
        # The cache's counters are not worth a disk flush: after a database crash the table is
        # empty.
        migrations.RunSQL("ALTER TABLE accounts_cacheentry SET UNLOGGED", "ALTER TABLE accounts_cacheentry SET LOGGED"),
        RunSqlFile("storage/months/months.sql", "802623cefa914a2d"),
        migrations.RunPython(build_indexes, migrations.RunPython.noop),
        RunSqlFile("accounts/models/immutable_audit.sql", "75b8ac30a5eb313d"),
        RunSqlFile("accounts/keys/company_changes.sql", "dbdc6948e3d55c3a"),
    ]
