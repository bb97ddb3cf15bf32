"""Aliases are few, and found without reading all links."""

from django.db import migrations, models
from django.db.models import Q

from config.storage.concurrent_indexes import AddIndexConcurrently


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("links", "0003_erased_clicks")]

    operations = [
        AddIndexConcurrently(
            "Link",
            models.Index(
                "slug", condition=Q(is_alias=True, retired_at__isnull=True), name="link_alias"
            ),
        ),
    ]
