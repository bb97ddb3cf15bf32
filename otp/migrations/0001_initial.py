import catalogue.ids
import catalogue.languages.message_languages
import django.db.models.deletion
import django.db.models.functions.datetime
import otp.models
from django.conf import settings
from django.db import migrations, models

from storage.schema_changes.operations import RunSqlFile, setting
from storage.months.new_tables import partition_by_month


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        ('channels', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Autofill',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('webotp_host', models.CharField(blank=True, max_length=253, verbose_name='site')),
                ('app_hash', models.CharField(blank=True, max_length=11, verbose_name='Android app')),
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='autofill', to='accounts.company')),
            ],
            options={
                'verbose_name': 'autofill',
                'verbose_name_plural': 'autofill',
            },
        ),
        migrations.CreateModel(
            name='GuardProgress',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('counted_until', models.DateTimeField()),
            ],
            options={
                'constraints': [models.CheckConstraint(condition=models.Q(('id', 1)), name='guard_progress_one_row')],
            },
        ),
        migrations.CreateModel(
            name='CodeText',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('purpose', models.CharField(blank=True, max_length=64, verbose_name='purpose')),
                ('channel', models.CharField(blank=True, choices=otp.models.own_text_channels, max_length=10, verbose_name='channel')),
                ('locale', models.CharField(choices=catalogue.languages.message_languages.choices, max_length=35, verbose_name='language')),
                ('body', models.CharField(max_length=500, verbose_name='text')),
                ('changed_at', models.DateTimeField(auto_now=True, verbose_name='changed')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='code_texts', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'text of codes',
                'verbose_name_plural': 'texts of codes',
                'constraints': [models.UniqueConstraint(fields=('company', 'purpose', 'channel', 'locale'), name='code_text_once')],
            },
        ),
        migrations.CreateModel(
            name='GuardEvidence',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('company', 'company'), ('country', 'country'), ('range', "carrier's range"), ('prefix-4', 'ten thousand numbers'), ('prefix-3', 'thousand numbers'), ('prefix-2', 'hundred numbers'), ('ip', 'IP address'), ('device', 'device')], max_length=8)),
                ('value', models.CharField(max_length=32)),
                ('country', models.CharField(blank=True, max_length=4)),
                ('seen_at', models.DateTimeField()),
                ('score', models.FloatField(default=0.0)),
                ('hits', models.FloatField(default=0.0)),
                ('misses', models.FloatField(default=0.0)),
                ('tokens', models.FloatField(default=0.0)),
                ('norm_at', models.DateTimeField()),
                ('norm_trials', models.FloatField(default=0.0)),
                ('norm_hits', models.FloatField(default=0.0)),
                ('refusals', models.PositiveIntegerField(default=0)),
                ('refused_until', models.DateTimeField(null=True)),
                ('is_apart', models.BooleanField(default=False)),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'indexes': [models.Index(fields=['seen_at'], name='guard_evidence_seen')],
                'constraints': [models.UniqueConstraint(fields=('company', 'kind', 'value'), name='guard_evidence_of_scope')],
            },
        ),
        migrations.CreateModel(
            name='GuardReplay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('asked_at', models.DateTimeField()),
                ('started_at', models.DateTimeField(null=True)),
                ('tries', models.PositiveIntegerField(default=0)),
                ('finished_at', models.DateTimeField(null=True)),
                ('is_failed', models.BooleanField(default=False)),
                ('codes', models.PositiveIntegerField(default=0)),
                ('refused', models.PositiveIntegerField(default=0)),
                ('challenged', models.PositiveIntegerField(default=0)),
                ('cheap_only', models.PositiveIntegerField(default=0)),
                ('entered', models.PositiveIntegerField(default=0)),
                ('tokens', models.PositiveBigIntegerField(default=0)),
                ('since', models.DateTimeField(null=True)),
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='guard_replay', to='accounts.company')),
            ],
            options={
                'indexes': [models.Index(condition=models.Q(('finished_at__isnull', True)), fields=['asked_at'], name='guard_replay_due')],
            },
        ),
        migrations.CreateModel(
            name='GuardReport',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('due_at', models.DateTimeField()),
                ('reported_at', models.DateTimeField(null=True)),
                ('company', models.OneToOneField(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
            ],
            options={
                'indexes': [models.Index(fields=['due_at'], name='guard_report_due')],
            },
        ),
        migrations.CreateModel(
            name='GuardRestriction',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('kind', models.CharField(choices=[('company', 'company'), ('country', 'country'), ('range', "carrier's range"), ('prefix-4', 'ten thousand numbers'), ('prefix-3', 'thousand numbers'), ('prefix-2', 'hundred numbers'), ('ip', 'IP address'), ('device', 'device')], max_length=8, verbose_name='scope')),
                ('value', models.CharField(max_length=32, verbose_name='value')),
                ('country', models.CharField(blank=True, max_length=4, verbose_name='country')),
                ('step', models.PositiveIntegerField(choices=[(0, 'let through'), (1, 'no SMS'), (2, 'proof of work'), (3, 'refused')], verbose_name='step')),
                ('rule', models.CharField(choices=[('unverified', 'codes are delivered but not entered'), ('pending', 'many codes wait to be entered'), ('lifted', 'let through by a member')], max_length=10, verbose_name='rule')),
                ('is_enforced', models.BooleanField(verbose_name='enforced')),
                ('is_early', models.BooleanField(db_default=False, default=False, verbose_name='sooner than usual: other companies are attacked there')),
                ('codes', models.PositiveIntegerField(default=0, verbose_name='codes delivered')),
                ('entered', models.PositiveIntegerField(default=0, verbose_name='entered')),
                ('excess', models.PositiveIntegerField(default=0, verbose_name='tokens beyond the usual')),
                ('stopped', models.PositiveIntegerField(db_default=0, default=0, verbose_name='sends held back')),
                ('began_at', models.DateTimeField(verbose_name='since')),
                ('until', models.DateTimeField(verbose_name='until')),
                ('ended_at', models.DateTimeField(null=True, verbose_name='ended')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company', verbose_name='company')),
                ('lifted_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL, verbose_name='lifted by')),
            ],
            options={
                'verbose_name': 'restriction of the guard',
                'verbose_name_plural': 'restrictions of the guard',
                'indexes': [models.Index(fields=['company', '-began_at'], name='guard_restriction_of_company'), models.Index(fields=['began_at'], name='guard_restriction_began')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at__isnull', True)), fields=('company', 'kind', 'value'), name='guard_restriction_open_once')],
            },
        ),
        migrations.CreateModel(
            name='SealedCode',
            fields=[
                ('message_id', models.UUIDField(primary_key=True, serialize=False)),
                ('verification_id', models.UUIDField(db_index=True)),
                ('key_id', models.CharField(max_length=16)),
                ('sealed', models.BinaryField(max_length=64)),
                ('expires_at', models.DateTimeField(db_index=True)),
            ],
        ),
        migrations.CreateModel(
            name='Verification',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('phone', models.CharField(max_length=16, verbose_name='phone')),
                ('purpose', models.CharField(max_length=64, verbose_name='purpose')),
                ('mac', models.BinaryField(max_length=32)),
                ('key_id', models.CharField(max_length=16, verbose_name='key')),
                ('length', models.PositiveSmallIntegerField(verbose_name='code length')),
                ('attempts', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='attempts')),
                ('max_attempts', models.PositiveSmallIntegerField(verbose_name='attempts allowed')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('expires_at', models.DateTimeField(verbose_name='expires')),
                ('judged_at', models.DateTimeField(null=True, verbose_name='last attempt')),
                ('verified_at', models.DateTimeField(null=True, verbose_name='verified')),
                ('superseded_at', models.DateTimeField(null=True, verbose_name='superseded')),
                ('cancelled_at', models.DateTimeField(null=True, verbose_name='cancelled')),
                ('is_custom', models.BooleanField(db_default=False, default=False, verbose_name='custom code')),
                ('binding', models.JSONField(null=True, verbose_name='bound to')),
                ('settled_at', models.DateTimeField(null=True, verbose_name='processed')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='verifications', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'verification',
                'verbose_name_plural': 'verifications',
                'indexes': [models.Index(condition=models.Q(('settled_at__isnull', True), ('verified_at__isnull', False)), fields=['verified_at'], name='verification_unsettled'), models.Index(condition=models.Q(('settled_at__isnull', True), ('verified_at__isnull', True), models.Q(('superseded_at__isnull', False), ('attempts__gte', models.F('max_attempts')), _connector='OR')), fields=['expires_at'], name='verification_over_early'), models.Index(condition=models.Q(('judged_at__isnull', False)), fields=['company', 'phone', 'judged_at'], name='verification_failures'), models.Index(condition=models.Q(('is_custom', True), ('verified_at__isnull', False)), fields=['company', 'verified_at'], name='verification_reported'), models.Index(condition=models.Q(('phone__endswith', '*'), _negated=True), fields=['created_at'], name='verification_with_phone')],
                'constraints': [models.UniqueConstraint(condition=models.Q(('superseded_at__isnull', True)), fields=('company', 'mode', 'phone', 'purpose'), name='verification_one_live'), models.CheckConstraint(condition=models.Q(('attempts__lte', models.F('max_attempts'))), name='verification_attempts')],
            },
        ),
        migrations.RunPython(partition_by_month("otp_verification"), migrations.RunPython.noop),
        migrations.RunPython(setting("otp_verification"), migrations.RunPython.noop),
        RunSqlFile("otp/check/guess_cap.sql", "8a3f77012f5da72d"),
        RunSqlFile("otp/check/spend_attempt.sql", "e1cf1f1058d7628e"),
        RunSqlFile("otp/sealed_codes.sql", "1eddfa43407315e7"),
        RunSqlFile("otp/texts/text_changes.sql", "3cbd4ea8d87a4e7e"),
    ]
