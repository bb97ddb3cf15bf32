"""Migrations of data, on rows as they were stored before."""

import importlib
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.utils import timezone

from channels.models import Message
from tests.factories import MessageFactory

pytestmark = pytest.mark.django_db


def put_times_in_order() -> None:
    migration = importlib.import_module("channels.migrations.0014_times_in_order").Migration
    state: Any = None  # plain SQL needs none
    with connection.schema_editor() as editor:
        for operation in migration.operations:
            operation.database_forwards("channels", editor, state, state)


def test_delivery_before_the_hand_over_is_put_in_order() -> None:
    created = timezone.now() - timedelta(hours=1)
    sent, early = created + timedelta(seconds=5), created + timedelta(seconds=2)
    delivered: Message = MessageFactory.create(
        created_at=created, sent_at=sent, delivered_at=early, read_at=early
    )
    undelivered: Message = MessageFactory.create(created_at=created, sent_at=sent, read_at=early)

    put_times_in_order()

    delivered.refresh_from_db()
    undelivered.refresh_from_db()
    assert (delivered.sent_at, delivered.delivered_at, delivered.read_at) == (sent, sent, sent)
    assert (undelivered.delivered_at, undelivered.read_at) == (None, sent)


def test_times_in_order_stay_and_a_large_table_is_given_its_time() -> None:
    created = timezone.now() - timedelta(hours=1)
    times = [created + timedelta(seconds=seconds) for seconds in (1, 2, 3)]
    message: Message = MessageFactory.create(
        created_at=created, sent_at=times[0], delivered_at=times[1], read_at=times[2]
    )
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = '10s'")

        put_times_in_order()

        cursor.execute("SHOW statement_timeout")
        assert cursor.fetchone() == ("0",)
    message.refresh_from_db()
    assert [message.sent_at, message.delivered_at, message.read_at] == times
