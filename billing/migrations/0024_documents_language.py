from django.db import migrations, models


class Migration(migrations.Migration):
    """Alone: what follows in its transaction would hold up every page that reads requisites."""

    dependencies = [
        ('billing', '0023_currencies'),
    ]

    operations = [
        migrations.AddField(
            model_name='billingprofile',
            name='documents_language',
            field=models.CharField(blank=True, choices=[('ru', 'Русский'), ('en', 'English')], db_default='', default='', max_length=2, verbose_name='language of documents'),
        ),
    ]
