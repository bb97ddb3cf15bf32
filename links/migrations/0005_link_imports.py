"""Short links made of a CSV file."""

import config.ids
import django.db.models.deletion
import django.db.models.functions.datetime
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0009_company_changes'),
        ('links', '0004_aliases'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='LinkImport',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('language', models.CharField(default='ru', max_length=2)),
                ('file_name', models.CharField(max_length=120, verbose_name='file')),
                ('ignored', models.JSONField(default=list)),
                ('state', models.CharField(choices=[('draft', 'not started'), ('running', 'in progress'), ('done', 'done'), ('stopped', 'stopped')], default='draft', max_length=8, verbose_name='state')),
                ('reason', models.CharField(blank=True, max_length=300)),
                ('total', models.PositiveIntegerField()),
                ('made', models.PositiveIntegerField(default=0)),
                ('refused', models.PositiveIntegerField(default=0)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('started_at', models.DateTimeField(null=True)),
                ('finished_at', models.DateTimeField(null=True)),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='link_imports', to='accounts.company')),
                ('created_by', models.ForeignKey(null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='+', to=settings.AUTH_USER_MODEL)),
            ],
            options={
                'verbose_name': 'import of links',
                'verbose_name_plural': 'imports of links',
            },
        ),
        migrations.CreateModel(
            name='LinkImportRow',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('url', models.TextField(blank=True)),
                ('alias', models.CharField(blank=True, max_length=100)),
                ('expires_in', models.CharField(blank=True, max_length=20)),
                ('short_url', models.CharField(blank=True, max_length=400)),
                ('error', models.CharField(blank=True, max_length=300)),
                ('link_import', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='rows', db_index=False, to='links.linkimport')),
            ],
        ),
        migrations.AddIndex(
            model_name='linkimport',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['started_at', 'id'], name='link_import_running'),
        ),
        migrations.AddConstraint(
            model_name='linkimportrow',
            constraint=models.UniqueConstraint(fields=('link_import', 'number'), name='link_import_row_once'),
        ),
    ]
