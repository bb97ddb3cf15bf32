"""Requests of the API, for the cabinet."""

import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
from django.db import migrations, models


SQUAWK_EXCEPTIONS = {"prefer-bigint-over-smallint": "a status of HTTP has three digits"}


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_company_changes'),
    ]

    operations = [
        migrations.CreateModel(
            name='ApiRequest',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('request_id', models.CharField(max_length=40, verbose_name='request id')),
                ('method', models.CharField(max_length=7, verbose_name='method')),
                ('path', models.CharField(max_length=80, verbose_name='call')),
                ('status', models.PositiveSmallIntegerField(verbose_name='status')),
                ('code', models.CharField(blank=True, max_length=40, verbose_name='error code')),
                ('fields', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=40), default=list, size=None, verbose_name='fields')),
                ('duration', models.PositiveIntegerField(verbose_name='duration, ms')),
                ('phone', models.CharField(blank=True, max_length=16, verbose_name='phone')),
                ('message_id', models.UUIDField(null=True, verbose_name='message')),
                ('created_at', models.DateTimeField(verbose_name='time')),
                ('api_key', models.ForeignKey(db_constraint=False, db_index=False, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to='accounts.apikey', verbose_name='API key')),
                ('company', models.ForeignKey(db_constraint=False, db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='api_requests', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'API request',
                'verbose_name_plural': 'API requests',
                'indexes': [models.Index(fields=['company', 'mode', 'created_at', 'id'], name='request_of_company'), django.contrib.postgres.indexes.BrinIndex(fields=['created_at'], name='request_by_time')],
            },
        ),
    ]
