import catalogue.ids
import django.db.models.deletion
import django.db.models.functions.datetime
import django.utils.timezone
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
            name='CompanyExport',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('language', models.CharField(max_length=2)),
                ('state', models.CharField(choices=[('running', 'being made'), ('ready', 'ready'), ('stopped', 'stopped'), ('failed', 'failed')], default='running', max_length=7, verbose_name='state')),
                ('rows', models.PositiveIntegerField(default=0, verbose_name='rows')),
                ('file', models.PositiveSmallIntegerField(default=0)),
                ('reached_at', models.DateTimeField(null=True)),
                ('reached_id', models.CharField(blank=True, max_length=36)),
                ('created_at', models.DateTimeField(default=django.utils.timezone.now, verbose_name='requested')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to='accounts.company')),
                ('user', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'export of a company',
                'verbose_name_plural': 'exports of companies',
            },
        ),
        migrations.CreateModel(
            name='CompanyExportPart',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('name', models.CharField(max_length=40)),
                ('body', models.BinaryField()),
                ('export', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='parts', to='persons.companyexport')),
            ],
        ),
        migrations.CreateModel(
            name='Erasure',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('company_id', models.BigIntegerField(null=True, verbose_name='company')),
                ('mode', models.CharField(blank=True, db_default='', max_length=4, verbose_name='mode')),
                ('key_id', models.CharField(max_length=16, verbose_name='key')),
                ('phone_hash', models.BinaryField(max_length=32)),
                ('erased_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='erased')),
            ],
            options={
                'verbose_name': 'erasure',
                'verbose_name_plural': 'erasures',
                'constraints': [models.UniqueConstraint(fields=('phone_hash', 'company_id', 'mode'), name='erasure_once', nulls_distinct=False)],
            },
        ),
        migrations.AddConstraint(
            model_name='companyexport',
            constraint=models.UniqueConstraint(condition=models.Q(('state', 'running')), fields=('company',), name='company_export_running'),
        ),
        migrations.AddConstraint(
            model_name='companyexportpart',
            constraint=models.UniqueConstraint(fields=('export', 'number'), name='company_export_part_once'),
        ),
        migrations.RunPython(build_indexes, migrations.RunPython.noop),
    ]
