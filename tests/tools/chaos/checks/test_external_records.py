"""Matches messages on phones to attempts where the vendor keeps no reference of ours."""

import pytest
from django.db import connection

from channels.models import Attempt, Message
from otp import codes
from tests.factories import AttemptFactory
from tests.tools.chaos.checks.scenarios import PHONE, World

pytestmark = pytest.mark.django_db

LENGTH = 6


def matched() -> dict[int, object]:
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, attempt_id FROM phone_message")
        return dict(cursor.fetchall())


def by_bot(message: Message, n: int, provider_id: str | None) -> Attempt:
    return AttemptFactory.create(
        message=message, n=n, provider="telegram_bot", provider_id=provider_id, state="failed"
    )


def test_messages_of_the_bot_are_known_by_name_and_else_by_their_code() -> None:
    world = World()
    key = codes.current_key()
    message = world.another(params={"key": key, "length": LENGTH}, channel="telegram")
    named = by_bot(message, 1, f"1:{PHONE.lstrip('+')}:7")
    lost, lost_again = by_bot(message, 2, None), by_bot(message, 3, None)
    code = codes.derive(world.verification.id, key_id=key, length=LENGTH)
    phone = {"provider": "telegram_bot", "ref": None, "code": code}
    world.phone = [
        world.arrival(named, **phone | {"id": n, "provider_id": str(n)}) for n in (5, 6, 7, 8)
    ]
    world.phone += [world.arrival(named, **phone | {"id": 9, "provider_id": "9", "code": "0"})]

    world.lay_out()

    assert matched() == {5: lost.pk, 6: lost_again.pk, 7: named.pk, 8: None, 9: None}
