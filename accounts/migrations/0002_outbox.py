import config.ids
import django.contrib.postgres.fields
import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0001_initial'),
    ]

    operations = [
        migrations.CreateModel(
            name='Delivery',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('state', models.CharField(choices=[('pending', 'on its way'), ('delivered', 'accepted'), ('failed', 'not accepted')], db_default='pending', default='pending', max_length=9, verbose_name='state')),
                ('tries', models.PositiveIntegerField(db_default=0, default=0, verbose_name='tries')),
                ('claims', models.PositiveIntegerField(db_default=0, default=0)),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True, verbose_name='next try')),
                ('round_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('finished_at', models.DateTimeField(null=True, verbose_name='finished')),
            ],
            options={
                'verbose_name': 'delivery',
                'verbose_name_plural': 'deliveries',
            },
        ),
        migrations.CreateModel(
            name='DeliveryAttempt',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('started_at', models.DateTimeField(verbose_name='started')),
                ('duration_ms', models.PositiveIntegerField(verbose_name='duration, ms')),
                ('headers', models.JSONField(default=dict)),
                ('status', models.PositiveSmallIntegerField(null=True, verbose_name='HTTP status')),
                ('answer', models.TextField(blank=True, verbose_name='answer')),
                ('error', models.CharField(blank=True, max_length=40, verbose_name='error')),
                ('delivery', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='attempts', to='accounts.delivery')),
            ],
            options={
                'verbose_name': 'delivery attempt',
                'verbose_name_plural': 'delivery attempts',
            },
        ),
        migrations.CreateModel(
            name='Endpoint',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('url', models.CharField(max_length=2000, verbose_name='address')),
                ('kinds', django.contrib.postgres.fields.ArrayField(base_field=models.CharField(max_length=20), size=None, verbose_name='events')),
                ('description', models.CharField(blank=True, default='', max_length=120, verbose_name='description')),
                ('key_id', models.CharField(max_length=16)),
                ('generation', models.PositiveIntegerField(default=1)),
                ('previous_key_id', models.CharField(blank=True, default='', max_length=16)),
                ('previous_until', models.DateTimeField(null=True)),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('disabled_at', models.DateTimeField(null=True, verbose_name='disabled')),
                ('disabled_reason', models.CharField(blank=True, choices=[('person', 'switched off by hand'), ('gone', 'the receiver answered 410 Gone'), ('failing', 'nothing was accepted for a whole day')], default='', max_length=8, verbose_name='why')),
                ('deleted_at', models.DateTimeField(null=True)),
                ('last_success_at', models.DateTimeField(null=True, verbose_name='last accepted')),
                ('failing_since', models.DateTimeField(null=True, verbose_name='failing since')),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='endpoints', to='accounts.company')),
            ],
            options={
                'verbose_name': 'callback endpoint',
                'verbose_name_plural': 'callback endpoints',
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='endpoint',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.endpoint'),
        ),
        migrations.CreateModel(
            name='Event',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('mode', models.CharField(choices=[('live', 'live'), ('test', 'test')], max_length=4, verbose_name='mode')),
                ('kind', models.CharField(choices=[('message.sent', 'a message was handed to the carrier'), ('message.delivered', 'a message was delivered'), ('message.failed', 'a message could not be delivered'), ('message.expired', 'delivery was not proved in time'), ('otp.verified', 'a right code was entered'), ('link.clicked', 'a person opened a short link'), ('balance.low', 'the balance is running out'), ('top_up.paid', 'a top-up was paid')], max_length=20, verbose_name='event')),
                ('key', models.CharField(max_length=120)),
                ('data', models.JSONField()),
                ('at', models.DateTimeField(verbose_name='happened')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now())),
                ('company', models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='events', to='accounts.company')),
            ],
            options={
                'verbose_name': 'event',
                'verbose_name_plural': 'events',
            },
        ),
        migrations.AddField(
            model_name='delivery',
            name='event',
            field=models.ForeignKey(db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name='deliveries', to='accounts.event'),
        ),
        migrations.CreateModel(
            name='Mail',
            fields=[
                ('id', models.UUIDField(default=config.ids.uuid7, editable=False, primary_key=True, serialize=False)),
                ('template', models.CharField(max_length=60, verbose_name='template')),
                ('to', models.EmailField(max_length=254, verbose_name='to')),
                ('subject', models.CharField(max_length=255, verbose_name='subject')),
                ('text', models.TextField()),
                ('html', models.TextField(blank=True)),
                ('key', models.CharField(max_length=120, null=True, unique=True)),
                ('tries', models.PositiveSmallIntegerField(db_default=0, default=0, verbose_name='tries')),
                ('due_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), null=True, verbose_name='next try')),
                ('error', models.CharField(blank=True, db_default='', max_length=200, verbose_name='error')),
                ('created_at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='created')),
                ('sent_at', models.DateTimeField(null=True, verbose_name='sent')),
            ],
            options={
                'verbose_name': 'letter',
                'verbose_name_plural': 'letters',
                'indexes': [models.Index(condition=models.Q(('due_at__isnull', False)), fields=['due_at'], name='mail_due'), models.Index(fields=['created_at'], name='mail_created')],
            },
        ),
        migrations.AddIndex(
            model_name='endpoint',
            index=models.Index(condition=models.Q(('deleted_at__isnull', True)), fields=['company', 'mode'], name='endpoint_of_company'),
        ),
        migrations.AddIndex(
            model_name='event',
            index=models.Index(fields=['created_at'], name='event_created'),
        ),
        migrations.AddConstraint(
            model_name='event',
            constraint=models.UniqueConstraint(fields=('company', 'mode', 'kind', 'key'), name='event_once'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(condition=models.Q(('due_at__isnull', False)), fields=['endpoint', 'due_at'], name='delivery_due'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), name='delivery_history'),
        ),
        migrations.AddIndex(
            model_name='delivery',
            index=models.Index(models.F('endpoint'), models.OrderBy(models.F('created_at'), descending=True), models.OrderBy(models.F('id'), descending=True), condition=models.Q(('state', 'failed')), name='delivery_failed'),
        ),
        migrations.AddConstraint(
            model_name='delivery',
            constraint=models.UniqueConstraint(fields=('event', 'endpoint'), name='delivery_once'),
        ),
    ]
