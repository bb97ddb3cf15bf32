from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0013_saved_filters'),
    ]

    operations = [
        migrations.AddField(
            model_name='auditevent',
            name='changes',
            field=models.JSONField(null=True, verbose_name='old and new values'),
        ),
    ]
