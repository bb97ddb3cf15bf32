from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('links', '0004_life'),
    ]

    operations = [
        migrations.AddField(
            model_name='link',
            name='is_barred',
            field=models.BooleanField(db_default=False, default=False, verbose_name='barred'),
        ),
        migrations.AddField(
            model_name='stop',
            name='is_operators',
            field=models.BooleanField(db_default=False, default=False, verbose_name='by the operator'),
        ),
    ]
