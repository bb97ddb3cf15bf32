import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("channels", "0001_squashed")]

    operations = [
        migrations.RenameModel("Turn", "FallbackEvent"),
        migrations.AlterModelOptions(
            name="fallbackevent",
            options={
                "verbose_name": "fallback event",
                "verbose_name_plural": "fallback events",
            },
        ),
        migrations.RenameField("FallbackEvent", "why", "reason"),
        migrations.AlterField(
            model_name="fallbackevent",
            name="message",
            field=models.ForeignKey(
                on_delete=django.db.models.deletion.CASCADE,
                related_name="fallback_events",
                to="channels.message",
            ),
        ),
    ]
