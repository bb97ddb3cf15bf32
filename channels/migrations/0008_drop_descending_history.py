"""The ascending index does its work."""

from django.db import migrations

from config.storage.concurrent_indexes import RemoveIndexConcurrently

SQUAWK_EXCEPTIONS = {
    "require-concurrent-index-deletion": "a partitioned table has no other way; others get theirs",
}


class Migration(migrations.Migration):
    atomic = False
    dependencies = [("channels", "0007_ascending_history")]

    operations = [RemoveIndexConcurrently("Message", "message_history")]
