"""One company's backlog does not hold up the messages of others."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from accounts.models import Company
from channels.deliver import claims, sweeps, turns
from channels.models import Message, OpenMessage
from tests.api.races import at_once
from tests.channels.accounts import create_account
from tests.factories import MessageFactory
from tests.plans import explain, nodes, reads


def backlog(company: Company, **fields: Any) -> list[Message]:
    """The oldest first."""
    many = 3 * turns.FRONT
    return [due(minutes=1 + many - n, company=company, **fields) for n in range(many)]


def due(*, minutes: int = 1, **fields: Any) -> Message:
    ago = timezone.now() - timedelta(minutes=minutes)
    message: Message = MessageFactory.create(due_at=ago, **fields)
    return message


def claimed_ids(limit: int) -> list[object]:
    return [one.message_id for one in claims.claim(limit)]


@pytest.mark.parametrize("kind", Message.Kind.values)
def test_message_waits_for_no_more_than_the_front_of_others(company: Company, kind: str) -> None:
    priority = int(kind == "link")
    content: dict[str, Any] = {"kind": kind, "content": kind, "priority": priority}
    crowd = backlog(company, **content)
    late = due(**content)

    sweeps.sweep()

    assert set(claimed_ids(turns.FRONT + 1)) == {
        late.pk, *(one.pk for one in crowd[: turns.FRONT])
    }  # fmt: skip


def test_backlog_moves_up_in_its_order_and_is_served_alone(company: Company) -> None:
    crowd = backlog(company)
    order: list[object] = []
    for _ in range(3):
        turns.take_turns()
        order += claimed_ids(turns.FRONT)

    assert order == [one.pk for one in crowd]


def test_codes_of_a_company_stay_before_its_links(company: Company) -> None:
    backlog(company, kind="link", content="link", priority=1)
    code = due(company=company)

    turns.take_turns()

    assert claimed_ids(1) == [code.pk]


def test_queue_without_a_crowd_costs_one_query(
    company: Company, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(turns.FRONT):
        due(company=company)

    with django_assert_num_queries(1):
        assert turns.take_turns() == 0


@pytest.mark.django_db(transaction=True)
def test_message_that_is_being_claimed_is_left_alone(company: Company) -> None:
    crowd = backlog(company)

    with transaction.atomic():
        Message.objects.select_for_update().get(pk=crowd[-1].pk)
        (moved,) = at_once([turns.take_turns])

    assert moved == 2 * turns.FRONT - 1
    behind = OpenMessage.objects.filter(priority=2).values_list("message_id", flat=True)
    assert set(behind) == {one.pk for one in crowd[turns.FRONT : -1]}


@pytest.mark.django_db(transaction=True)
def test_backlog_that_no_account_can_carry_is_passed_over_in_the_queue(company: Company) -> None:
    """Its messages are not looked at, one by one, each time that somebody sends a code."""
    backlog(company)
    create_account("whatsapp_cloud", is_enabled=False)
    late = due(channel="sms")

    with reads() as statements:
        assert claimed_ids(turns.FRONT) == [late.pk]

    claim = statements[-1]
    with transaction.atomic():
        plan = explain(claim)
    queue = [node for node in nodes(plan) if node.get("Relation Name") == "channels_openmessage"]
    assert [node["Actual Rows"] for node in queue] == [0]
