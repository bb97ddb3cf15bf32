"""Contacts: people who let our Telegram bot write to them, and the link that invites others to."""

from collections.abc import Sequence
from typing import Any
from uuid import UUID

import segno
from django.db import connection, transaction
from django.db.models.functions import Now
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Contact
from channels.providers.telegram_bot.provider import TelegramBot
from channels.vendor_accounts import registry

_CHAT_GONE_CODES = {"400", "403"}  # Telegram: the chat does not exist, or the bot is blocked

# A contact shared again after the call began stays.
_MARK_REFUSED = """
UPDATE channels_contact c SET blocked_at = now()
FROM channels_attempt a JOIN channels_message m ON m.id = a.message_id
WHERE a.id = ANY(%s) AND a.provider = 'telegram_bot' AND c.phone = m.phone
  AND c.blocked_at IS NULL AND c.shared_at < a.started_at
"""

MESSAGE = _(
    "The recipient has not let the bot write to them on Telegram. Have them open {url} and share "
    "their number, then send again"
)


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
        event.attempt_id
        for event in events
        if event.kind is EventKind.UNREACHABLE and event.code in _CHAT_GONE_CODES
    ]
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_MARK_REFUSED, [ids])


def bot_url() -> str:
    """Empty if no bot is configured or the settings lack its username."""
    return _url_of("telegram_bot")


def url_if_unreachable(message_id: UUID) -> str:
    """The link if the last attempt was by the bot and could not reach the person, else empty."""
    last = Attempt.objects.filter(message_id=message_id).order_by("-n").first()
    return _url_of(last.provider) if last and last.error_class == "unreachable" else ""


def error_fields(message_id: UUID) -> dict[str, Any]:
    """Fields to add to the API's error: a message of its own and `action_url`."""
    url = url_if_unreachable(message_id)
    if not url:
        return {}
    return {"message": format_lazy(MESSAGE, url=url), "action_url": url}


def qr_code(url: str) -> str:
    """As a data: URI."""
    code = segno.make(url, error="m")
    return str(code.svg_data_uri(border=2, dark="#000", light="#fff"))


def _url_of(provider: str) -> str:
    bot = registry.live_providers().get(provider)
    return bot.contact_url if isinstance(bot, TelegramBot) else ""
