"""Incidents with their updates, and the days of the status page."""

import config.channels
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('operator_admin', '0003_company_notes'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='Incident',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('title_ru', models.CharField(max_length=120, verbose_name='title in Russian')),
                ('title_en', models.CharField(max_length=120, verbose_name='title in English')),
                ('impact', models.CharField(choices=[('degraded', 'works with difficulties'), ('outage', 'does not work'), ('maintenance', 'maintenance')], max_length=11, verbose_name='impact')),
                ('state', models.CharField(choices=[('investigating', 'investigating'), ('identified', 'identified'), ('monitoring', 'monitoring'), ('resolved', 'resolved')], max_length=13, verbose_name='state')),
                ('channel', models.CharField(blank=True, choices=config.channels.choices, max_length=8, verbose_name='channel')),
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
            name='IncidentUpdate',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('state', models.CharField(choices=[('investigating', 'investigating'), ('identified', 'identified'), ('monitoring', 'monitoring'), ('resolved', 'resolved')], max_length=13, verbose_name='state')),
                ('text_ru', models.CharField(max_length=600, verbose_name='text in Russian')),
                ('text_en', models.CharField(max_length=600, verbose_name='text in English')),
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
    ]
