"""Memories of a phone are found and forgotten, whatever key they were hashed with."""

import pytest
from django.utils import timezone
from pytest_django import Settings

from channels.models import RememberedPhone
from channels.routing.learned import phone_memories
from channels.routing.smart.reach import PhoneMemory

pytestmark = pytest.mark.django_db
PHONE = "+79161234567"
OLD_KEY = "old" * 20
NEW_KEY = "new" * 20


def remember(channel: str = "telegram") -> None:
    now = timezone.now().timestamp()
    memory = PhoneMemory()
    memory.record_proof(channel, now)
    phone_memories.save_many({PHONE: memory}, now)


@pytest.fixture(autouse=True)
def _under_the_old_key(settings: Settings) -> None:
    settings.SECRET_KEY = OLD_KEY
    remember()


def test_memory_is_read_while_the_key_is_exchanged(settings: Settings) -> None:
    settings.SECRET_KEY = NEW_KEY
    settings.SECRET_KEY_FALLBACKS = [OLD_KEY]
    assert set(phone_memories.load(PHONE).channels) == {"telegram"}

    remember("whatsapp")

    assert set(phone_memories.load(PHONE).channels) == {"whatsapp"}  # the newest key's row


def test_all_rows_of_a_phone_are_forgotten(settings: Settings) -> None:
    settings.SECRET_KEY = NEW_KEY
    settings.SECRET_KEY_FALLBACKS = [OLD_KEY]
    remember("whatsapp")

    assert phone_memories.forget(PHONE) == 2

    assert phone_memories.load(PHONE) == PhoneMemory()


def test_rows_of_a_dropped_key_go_with_the_next_purge(settings: Settings) -> None:
    settings.SECRET_KEY = NEW_KEY
    settings.SECRET_KEY_FALLBACKS = [OLD_KEY]
    remember("whatsapp")
    assert phone_memories.purge(1000) == 0

    settings.SECRET_KEY_FALLBACKS = []

    assert phone_memories.purge(1000) == 1
    (left,) = RememberedPhone.objects.all()
    assert bytes(left.pk) == phone_memories.hashes_of(PHONE)[0]


def test_rows_without_a_key_id_are_purged() -> None:
    RememberedPhone.objects.update(key_id="")

    assert phone_memories.purge(1000) == 1
