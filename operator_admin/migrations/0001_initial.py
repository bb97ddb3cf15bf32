import catalogue.channels
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models

from storage.months.new_tables import build_indexes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='AlertRun',
            fields=[
                ('group', models.CharField(max_length=10, primary_key=True, serialize=False)),
                ('at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'alert run',
                'verbose_name_plural': 'alert runs',
            },
        ),
        migrations.CreateModel(
            name='TelegramNotice',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.TextField()),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('tries', models.PositiveIntegerField(db_default=0, default=0)),
                ('error', models.CharField(blank=True, db_default='', max_length=200)),
            ],
            options={
                'verbose_name': 'Telegram notice',
                'verbose_name_plural': 'Telegram notices',
            },
        ),
        migrations.CreateModel(
            name='Alert',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('rule', models.CharField(max_length=40)),
                ('subject', models.CharField(blank=True, max_length=120)),
                ('details', models.JSONField(default=dict)),
                ('began_at', models.DateTimeField()),
                ('missing_since', models.DateTimeField(null=True)),
                ('ended_at', models.DateTimeField(null=True)),
                ('notices', models.PositiveIntegerField(default=0)),
                ('notified_at', models.DateTimeField(null=True)),
                ('due_at', models.DateTimeField()),
            ],
            options={
                'verbose_name': 'alert',
                'verbose_name_plural': 'alerts',
                'constraints': [models.UniqueConstraint(condition=models.Q(('ended_at', None)), fields=('rule', 'subject'), name='alert_open_once')],
            },
        ),
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('titles', models.JSONField(verbose_name='titles by language')),
                ('impact', models.CharField(choices=[('degraded', 'degraded'), ('outage', 'outage'), ('maintenance', 'maintenance')], max_length=11, verbose_name='impact')),
                ('state', models.CharField(choices=[('investigating', 'investigating'), ('identified', 'identified'), ('monitoring', 'monitoring'), ('resolved', 'resolved')], max_length=13, verbose_name='state')),
                ('channel', models.CharField(blank=True, choices=catalogue.channels.choices, max_length=8, verbose_name='channel')),
                ('country', models.CharField(blank=True, max_length=2, verbose_name='country of the companies')),
                ('is_public', models.BooleanField(db_default=True, default=True, verbose_name='on the status page')),
                ('began_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='began')),
                ('shown_from', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='notice from')),
                ('shown_until', models.DateTimeField(null=True, verbose_name='notice until')),
                ('resolved_at', models.DateTimeField(null=True, verbose_name='resolved')),
            ],
            options={
                'verbose_name': 'incident',
                'verbose_name_plural': 'incidents',
                'indexes': [models.Index(fields=['began_at'], name='incident_began'), models.Index(condition=models.Q(('resolved_at', None)), fields=['shown_from'], name='incident_open')],
                'constraints': [models.CheckConstraint(condition=models.Q(models.Q(('resolved_at__isnull', False), ('state', 'resolved')), models.Q(models.Q(('state', 'resolved'), _negated=True), ('resolved_at', None)), _connector='OR'), name='incident_ends_when_resolved')],
            },
        ),
        migrations.CreateModel(
            name='StatusDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('component', models.CharField(max_length=8)),
                ('day', models.DateField()),
                ('total', models.PositiveBigIntegerField(default=0)),
                ('good', models.PositiveBigIntegerField(default=0)),
                ('companies', models.PositiveIntegerField(default=0)),
                ('largest', models.PositiveBigIntegerField(default=0)),
                ('median_ms', models.PositiveIntegerField(null=True)),
                ('counted_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('day', 'component'), name='status_day_once')],
            },
        ),
        migrations.CreateModel(
            name='CompanyNote',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('text', models.CharField(max_length=1000, verbose_name='note')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('author', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='operator_notes', to='accounts.company')),
            ],
            options={
                'verbose_name': 'note',
                'verbose_name_plural': 'notes',
                'indexes': [models.Index(fields=['company', 'created_at'], name='note_of_company')],
            },
        ),
        migrations.CreateModel(
            name='IncidentUpdate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('investigating', 'investigating'), ('identified', 'identified'), ('monitoring', 'monitoring'), ('resolved', 'resolved')], max_length=13, verbose_name='state')),
                ('texts', models.JSONField(verbose_name='texts by language')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
                ('author', models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
                ('incident', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='updates', to='operator_admin.incident')),
            ],
            options={
                'verbose_name': 'update of an incident',
                'verbose_name_plural': 'updates of incidents',
                'indexes': [models.Index(fields=['incident', 'created_at'], name='update_of_incident')],
            },
        ),
        migrations.RunPython(build_indexes, migrations.RunPython.noop),
    ]
