from django.db import migrations, models

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False

    dependencies = [
        ('channels', '0020_remembered_phone_key'),
    ]

    operations = [
        AddIndexConcurrently(
            'RememberedPhone', models.Index(fields=['key_id'], name='remembered_phone_key')
        ),
    ]
