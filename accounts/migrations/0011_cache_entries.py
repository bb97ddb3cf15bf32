from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("accounts", "0010_all_countries")]

    operations = [
        migrations.CreateModel(
            name="CacheEntry",
            fields=[
                ("key", models.CharField(max_length=260, primary_key=True, serialize=False)),
                ("value", models.JSONField()),
                ("expires_at", models.DateTimeField(db_index=True)),
            ],
            options={"verbose_name": "cache entry", "verbose_name_plural": "cache entries"},
        ),
        # What it counts is worth no disk flush: after a crash of the database it begins anew.
        migrations.RunSQL(
            "ALTER TABLE accounts_cacheentry SET UNLOGGED",
            "ALTER TABLE accounts_cacheentry SET LOGGED",
        ),
    ]
