from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("links", "0002_drop_duplicate_indexes")]

    operations = [
        migrations.CreateModel(
            name="ErasedClicks",
            fields=[
                ("link_id", models.UUIDField(primary_key=True, serialize=False)),
                ("erased_at", models.DateTimeField()),
                ("is_gone", models.BooleanField(default=False)),
            ],
        ),
    ]
