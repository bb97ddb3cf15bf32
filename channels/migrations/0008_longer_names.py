from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('channels', '0007_provider_accounts'),
    ]

    operations = [
        migrations.AlterField(
            model_name='part',
            name='provider',
            field=models.CharField(max_length=40),
        ),
        migrations.AlterField(
            model_name='provideralert',
            name='provider',
            field=models.CharField(max_length=40, verbose_name='provider'),
        ),
    ]
