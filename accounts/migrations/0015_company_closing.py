from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('accounts', '0014_audit_changes'),
    ]

    operations = [
        migrations.AddField(
            model_name='company',
            name='requires_second_factor',
            field=models.BooleanField(db_default=False, default=False, verbose_name='requires two-step sign-in'),
        ),
        migrations.AddField(
            model_name='company',
            name='closes_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='to be deleted'),
        ),
        migrations.AddField(
            model_name='company',
            name='deleted_at',
            field=models.DateTimeField(editable=False, null=True, verbose_name='deleted'),
        ),
    ]
