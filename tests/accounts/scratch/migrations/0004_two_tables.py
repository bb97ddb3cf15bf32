from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("api_docs", "0003_index")]

    operations = [
        migrations.RunSQL("ALTER TABLE scratch ADD COLUMN other int", migrations.RunSQL.noop),
        migrations.RunSQL("SELECT pg_sleep(0.4)", migrations.RunSQL.noop),
        migrations.RunSQL("ALTER TABLE IF EXISTS scratch_other ADD COLUMN other int", migrations.RunSQL.noop),
    ]
