from django.db import migrations, models

from storage.schema_changes.operations import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("api_docs", "0002_column")]

    operations = [AddIndexConcurrently("Scratch", models.Index("note", name="scratch_note"))]
