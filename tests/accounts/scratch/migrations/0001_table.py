from django.db import migrations, models


class Migration(migrations.Migration):
    initial = True

    operations = [
        migrations.CreateModel(
            "Scratch",
            [("id", models.BigAutoField(primary_key=True)), ("note", models.TextField(default=""))],
            options={"db_table": "scratch"},
        ),
    ]
