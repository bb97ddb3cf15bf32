"""Indexes that earlier releases used: a new database has none, an upgraded one drops them."""

import pytest
from django.core.management import call_command
from django.db import connection

from config.storage import superseded_indexes
from operator_admin.doctor import stores

ONES = {
    "message_due": "channels_message (priority, due_at) WHERE due_at IS NOT NULL",
    "attempt_one_open": "channels_attempt (message_id) WHERE state = 'sent'",
}


@pytest.mark.django_db
def test_new_database_has_none() -> None:
    assert superseded_indexes.left() == []


@pytest.mark.usefixtures("english")
@pytest.mark.django_db(transaction=True)
def test_they_are_dropped_with_the_partitioning() -> None:
    with connection.cursor() as cursor:
        for name, definition in ONES.items():
            cursor.execute(f"CREATE INDEX {name} ON {definition}")
        cursor.execute("CREATE TABLE scratch (n int)")
        cursor.execute("CREATE INDEX message_owed ON scratch (n)")
    finding = stores.partitions_ahead()

    call_command("partition_tables")

    assert finding.detail == "indexes without use: attempt_one_open, message_due, message_owed"
    assert superseded_indexes.left() == []
    with connection.cursor() as cursor:
        cursor.execute("DROP TABLE scratch")
