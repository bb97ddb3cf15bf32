"""Contacts: people who let our Telegram bot write to them."""

from collections.abc import Sequence

from django.db import connection, transaction
from django.db.models.functions import Now

from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Contact

_CHAT_GONE_CODES = {"400", "403"}  # Telegram: the chat does not exist, or the bot is blocked

# A contact shared again after the call began stays.
_MARK_REFUSED = """
UPDATE channels_contact c SET blocked_at = now()
FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
WHERE a.id = ANY(%s) AND a.provider = 'telegram_bot' AND c.phone = m.phone
  AND c.blocked_at IS NULL AND c.shared_at < a.started_at
"""


@transaction.atomic
def share(*, phone: str, chat_id: int) -> None:
    """Stores a contact; a chat has one phone and a phone one chat, so the newest pair wins."""
    Contact.objects.filter(chat_id=chat_id).exclude(phone=phone).delete()
    Contact.objects.update_or_create(
        phone=phone, defaults={"chat_id": chat_id, "shared_at": Now(), "blocked_at": None}
    )


def stop(chat_id: int) -> None:
    """Stops the bot's messages to this chat; other channels are not affected."""
    Contact.objects.filter(chat_id=chat_id).update(blocked_at=Now())


def resume(chat_id: int) -> bool:
    """Lets the bot write again; returns whether the chat has a contact."""
    return bool(Contact.objects.filter(chat_id=chat_id).update(blocked_at=None))


def mark_refused(events: Sequence[Event]) -> None:
    """Blocks the contacts whose chat Telegram refused, so that they are not tried again."""
    ids = [
        one.attempt_id
        for one in events
        if one.kind is EventKind.UNREACHABLE and one.code in _CHAT_GONE_CODES
    ]
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_MARK_REFUSED, [ids])
