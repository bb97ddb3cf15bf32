"""What a statement reads is counted whole, and executing it twice leaves no trace."""

import pytest
from django.db import connection, transaction

from accounts.models import Company
from channels.models import Message
from tests.api.clients import Api
from tests.channels.message_stages import send
from tests.factories import CompanyFactory
from tools.growth.recording import blocks_of, recorded


def node(kind: str, blocks: int, *children: dict[str, object], **more: object) -> dict[str, object]:
    buffers = {"Shared Hit Blocks": blocks, "Shared Read Blocks": 0}
    return {"Node Type": kind, "Plans": list(children), **buffers, **more}


def test_inserts_of_a_with_count_although_the_root_leaves_them_out() -> None:
    insert = node("ModifyTable", 7, node("Result", 1), **{"Subplan Name": "CTE message"})
    payer = node("ModifyTable", 4, **{"Subplan Name": "CTE payer"})
    root = node("Result", 4, insert, payer, node("CTE Scan", 4))

    assert blocks_of(root) == 11


def test_children_count_once() -> None:
    root = node("Nested Loop", 10, node("Index Scan", 3), node("Index Scan", 5))

    assert blocks_of(root) == 10


@pytest.mark.django_db
def test_send_is_recorded_whole_and_made_once(api: Api, queued_at_once: None) -> None:
    with recorded() as readings:
        message = send(api)

    assert [message.pk] == list(Message.objects.values_list("pk", flat=True))
    (insert,) = (each for each in readings if "INSERT INTO channels_message" in each.text)
    assert insert.blocks > 20  # of the message, its code, its hold, and their indexes


@pytest.mark.django_db(transaction=True)
def test_statement_in_autocommit_is_undone_once_and_then_kept() -> None:
    with recorded() as readings:
        company = CompanyFactory.create()
        with transaction.atomic():
            Company.objects.filter(pk=company.pk).update(name="Renamed")

    assert [company.pk] == list(Company.objects.filter(name="Renamed").values_list("pk", flat=True))
    assert sum("UPDATE" in each.text for each in readings) == 1


@pytest.mark.django_db
def test_settings_of_a_session_are_not_explained() -> None:
    with recorded() as readings, connection.cursor() as cursor:
        cursor.execute("SET LOCAL statement_timeout = 0")

    assert readings == []
