import catalogue.ids
import django.db.models.deletion
import django.db.models.functions.datetime
import uuid
from django.conf import settings
from django.db import migrations, models

from storage.schema_changes.operations import RunSqlFile
from storage.months.new_tables import build_indexes


class Migration(migrations.Migration):

    initial = True

    dependencies = [
        ('accounts', '0001_initial'),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name='BlockedHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=253, unique=True, verbose_name='host')),
                ('reason', models.CharField(blank=True, max_length=200, verbose_name='reason')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='added')),
            ],
            options={
                'verbose_name': 'blocked site',
                'verbose_name_plural': 'blocked sites',
            },
        ),
        migrations.CreateModel(
            name='ClickBatch',
            fields=[
                ('id', models.UUIDField(default=uuid.uuid4, primary_key=True, serialize=False)),
                ('counted_at', models.DateTimeField(auto_now_add=True)),
            ],
        ),
        migrations.CreateModel(
            name='ErasedClicks',
            fields=[
                ('link_id', models.UUIDField(primary_key=True, serialize=False)),
                ('erased_at', models.DateTimeField()),
                ('is_gone', models.BooleanField(default=False)),
            ],
        ),
        migrations.CreateModel(
            name='Link',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('slug', models.CharField(max_length=64, verbose_name='slug')),
                ('key', models.CharField(max_length=85, verbose_name='key')),
                ('is_alias', models.BooleanField(default=False, verbose_name='alias')),
                ('url', models.TextField(verbose_name='target')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('expires_at', models.DateTimeField(blank=True, null=True, verbose_name='expires')),
                ('disabled_at', models.DateTimeField(blank=True, null=True, verbose_name='disabled')),
                ('is_barred', models.BooleanField(db_default=False, default=False, verbose_name='barred')),
                ('message_id', models.UUIDField(null=True, verbose_name='message')),
                ('clicked_at', models.DateTimeField(null=True, verbose_name='first opened')),
                ('batch_id', models.UUIDField(null=True, verbose_name='batch')),
                ('utm', models.CharField(db_default='', default='', max_length=300, verbose_name='tags')),
                ('expired_url', models.TextField(db_default='', default='', verbose_name='leads to once expired')),
                ('is_once', models.BooleanField(db_default=False, default=False, verbose_name='opens once')),
                ('used_at', models.DateTimeField(null=True, verbose_name='opened')),
                ('dies_with_code', models.BooleanField(db_default=False, default=False, verbose_name='expires with its code')),
                ('reuse_key', models.UUIDField(null=True, verbose_name='deduplication key')),
                ('retired_at', models.DateTimeField(null=True, verbose_name='alias released')),
                ('clicks', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='clicks')),
                ('previews', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='previews')),
                ('scanners', models.PositiveBigIntegerField(db_default=0, default=0, verbose_name='scanners')),
                ('first_click_at', models.DateTimeField(null=True, verbose_name='first click')),
                ('last_click_at', models.DateTimeField(null=True, verbose_name='last click')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.PROTECT, related_name='links', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'link',
                'verbose_name_plural': 'links',
            },
        ),
        migrations.CreateModel(
            name='LinkImport',
            fields=[
                ('id', models.UUIDField(default=catalogue.ids.uuid7, editable=False, primary_key=True, serialize=False)),
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
                ('link_import', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='rows', to='links.linkimport')),
            ],
        ),
        migrations.CreateModel(
            name='Report',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('reason', models.CharField(choices=[('spam', 'a message I did not ask for'), ('phishing', 'pretends to be somebody else'), ('malware', 'harms a device'), ('other', 'something else')], max_length=10, verbose_name='reason')),
                ('words', models.CharField(blank=True, max_length=500, verbose_name="in the reporter's words")),
                ('reported_at', models.DateTimeField(auto_now_add=True, verbose_name='reported')),
                ('handled_at', models.DateTimeField(blank=True, null=True, verbose_name='handled')),
                ('link', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='reports', to='links.link', verbose_name='link')),
            ],
            options={
                'verbose_name': 'report on a link',
                'verbose_name_plural': 'reports on links',
            },
        ),
        migrations.CreateModel(
            name='ShortHost',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('host', models.CharField(max_length=253, unique=True, verbose_name='host')),
                ('created_at', models.DateTimeField(auto_now_add=True, verbose_name='added')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.PROTECT, related_name='short_hosts', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'host of short links',
                'verbose_name_plural': 'hosts of short links',
            },
        ),
        migrations.AddField(
            model_name='link',
            name='host',
            field=models.ForeignKey(db_index=False, null=True, on_delete=django.db.models.deletion.PROTECT, to='links.shorthost', verbose_name='host'),
        ),
        migrations.CreateModel(
            name='Stop',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('batch_id', models.UUIDField(null=True, verbose_name='batch')),
                ('stopped_at', models.DateTimeField(auto_now_add=True, verbose_name='stopped')),
                ('is_operators', models.BooleanField(db_default=False, default=False, verbose_name='by the operator')),
                ('company', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='link_stops', to='accounts.company', verbose_name='company')),
            ],
            options={
                'verbose_name': 'stopped links',
                'verbose_name_plural': 'stopped links',
            },
        ),
        migrations.CreateModel(
            name='ClickDay',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('day', models.DateField()),
                ('clicks', models.PositiveIntegerField(default=0)),
                ('previews', models.PositiveIntegerField(default=0)),
                ('scanners', models.PositiveIntegerField(default=0)),
                ('link', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='days', to='links.link')),
            ],
            options={
                'constraints': [models.UniqueConstraint(fields=('link', 'day'), name='click_day_once')],
            },
        ),
        migrations.AddIndex(
            model_name='linkimport',
            index=models.Index(condition=models.Q(('state', 'running')), fields=['started_at', 'id'], name='link_import_running'),
        ),
        migrations.AddConstraint(
            model_name='linkimportrow',
            constraint=models.UniqueConstraint(fields=('link_import', 'number'), name='link_import_row_once'),
        ),
        migrations.AddIndex(
            model_name='report',
            index=models.Index(models.F('reported_at'), condition=models.Q(('handled_at__isnull', True)), name='report_waiting'),
        ),
        migrations.AddIndex(
            model_name='link',
            index=models.Index(models.F('company'), models.F('mode'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='link_history'),
        ),
        migrations.AddIndex(
            model_name='link',
            index=models.Index(models.F('batch_id'), condition=models.Q(('batch_id__isnull', False)), name='link_of_batch'),
        ),
        migrations.AddIndex(
            model_name='link',
            index=models.Index(models.F('slug'), condition=models.Q(('is_alias', True), ('retired_at__isnull', True)), name='link_alias'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.UniqueConstraint(condition=models.Q(('retired_at__isnull', True)), fields=('key',), name='link_key_once'),
        ),
        migrations.AddConstraint(
            model_name='link',
            constraint=models.UniqueConstraint(condition=models.Q(('reuse_key__isnull', False)), fields=('company', 'mode', 'reuse_key'), name='link_reused_once'),
        ),
        migrations.AddConstraint(
            model_name='stop',
            constraint=models.UniqueConstraint(fields=('company', 'batch_id'), name='link_stop_once', nulls_distinct=False),
        ),
        migrations.RunPython(build_indexes, migrations.RunPython.noop),
        RunSqlFile("links/clicks/clicks.sql", "1758c472eba6505e"),
    ]
