
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('links', '0001_initial'),
    ]

    operations = [
        migrations.AddField(
            model_name='link',
            name='clicked_at',
            field=models.DateTimeField(null=True, verbose_name='first opened'),
        ),
        migrations.AddField(
            model_name='link',
            name='message_id',
            field=models.UUIDField(null=True),
        ),
    ]
