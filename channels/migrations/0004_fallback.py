import django.db.models.deletion
import django.db.models.functions.datetime
from django.db import migrations, models

# Until now only numbers of test keys had chains, of bare names.
FORGET_CHAINS = """
UPDATE channels_message SET chain = '[]' WHERE state IN ('queued', 'sent') AND chain <> '[]'
"""


class Migration(migrations.Migration):

    dependencies = [
        ('channels', '0003_operations'),
    ]

    operations = [
        migrations.RunSQL(FORGET_CHAINS, migrations.RunSQL.noop),
        migrations.CreateModel(
            name='Turn',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('why', models.CharField(max_length=12)),
                ('channel', models.CharField(choices=[('whatsapp', 'WhatsApp'), ('telegram', 'Telegram'), ('sms', 'SMS')], max_length=8, verbose_name='channel')),
                ('at', models.DateTimeField(db_default=django.db.models.functions.datetime.Now(), verbose_name='time')),
            ],
            options={
                'verbose_name': 'turn of a message',
                'verbose_name_plural': 'turns of messages',
            },
        ),
        migrations.AddField(
            model_name='attempt',
            name='price',
            field=models.PositiveIntegerField(db_default=0, default=0, verbose_name='price'),
        ),
        migrations.AddField(
            model_name='message',
            name='fallback_at',
            field=models.DateTimeField(null=True),
        ),
        migrations.AddField(
            model_name='message',
            name='is_owed',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('fallback_at__isnull', False)), fields=['fallback_at'], name='message_fallback'),
        ),
        migrations.AddIndex(
            model_name='message',
            index=models.Index(condition=models.Q(('is_owed', True)), fields=['deadline'], name='message_owed'),
        ),
        migrations.AddField(
            model_name='turn',
            name='message',
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='turns', to='channels.message'),
        ),
    ]
