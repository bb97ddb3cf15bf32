from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("api_docs", "0001_table")]

    operations = [migrations.AddField("Scratch", "size", models.IntegerField(null=True))]
