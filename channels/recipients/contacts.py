"""Contacts: people who let our bots write to them, and the link that invites people to it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import segno
from django.core.cache import cache
from django.db import transaction
from django.db.models import Q
from django.db.models.functions import Greatest
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.purges import delete_rows
from catalogue.channels import by_stored_name
from catalogue.texts import StrOrPromise
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import Attempt, Contact
from channels.providers.bot import Bot
from channels.vendor_accounts import registry
from storage import advisory_locks, atomic_limits
from storage.statements import sql_files
from storage.statements.queries import execute

_MARK_REFUSED = sql_files.read("channels/recipients/mark_refused.sql")

# The bot then asks for the number again: codes for its next owner would arrive in this chat.
LIFETIME = timedelta(days=365)
REDELIVERED_FOR = 86_400  # seconds: Telegram keeps an update for a day, MAX calls for eight hours

MESSAGE = _(
    "The recipient has not let the bot write to them on {messenger}. Have them open {url} and "
    "share their number, then send again"
)


@dataclass(frozen=True, slots=True)
class BotInvitation:
    """The link that lets a person allow a bot to write to them."""

    channel: str
    url: str

    @property
    def messenger(self) -> StrOrPromise:
        return by_stored_name(self.channel).title

    @property
    def qr_code(self) -> str:
        """The QR code as a data: URI."""
        code = segno.make(self.url, error="m")
        return str(code.svg_data_uri(border=2, dark="#000", light="#fff"))


# A failed update is delivered again, after later ones: the person's last action by the vendor's
# clock, in whole seconds, counts.


@transaction.atomic
def store_contact(provider: str, *, phone: str, chat_id: int, at: datetime | None = None) -> bool:
    """Stores a contact; returns False if the person has done something else since `at`.

    A chat has one phone and a phone one chat, so the newest pair replaces older ones. A bot's
    shares and stops are serialised: two that exchange their phones would wait for each other.
    """
    at = at or timezone.now().replace(microsecond=0)
    advisory_locks.lock(f"share:{provider}")
    of_bot = Contact.objects.filter(provider=provider)
    replaced = of_bot.filter(Q(chat_id=chat_id) | Q(phone=phone))
    is_late = replaced.filter(Q(shared_at__gt=at) | Q(blocked_at__gt=at)).exists()
    if is_late or cache.get(_stop_key(provider, chat_id), 0.0) > at.timestamp():
        return False
    of_bot.filter(chat_id=chat_id).exclude(phone=phone).delete()
    of_bot.update_or_create(
        provider=provider,
        phone=phone,
        defaults={"chat_id": chat_id, "shared_at": at, "confirmed_at": at, "blocked_at": None},
    )
    return True


@transaction.atomic
def stop(provider: str, chat_id: int, at: datetime | None = None) -> None:
    """Stops the bot's messages to this chat; other channels stay unaffected."""
    at = at or timezone.now().replace(microsecond=0)
    advisory_locks.lock(f"share:{provider}")
    chat = Contact.objects.filter(provider=provider, chat_id=chat_id)
    if not chat.exists():
        cache.set(_stop_key(provider, chat_id), at.timestamp(), REDELIVERED_FOR)
    chat.filter(shared_at__lte=at).update(blocked_at=Greatest("blocked_at", at))


def _stop_key(provider: str, chat_id: int) -> str:
    """The key of a STOP in a chat whose contact may still arrive."""
    return f"bot-stop:{hashed_chat(provider, chat_id)}"


def hashed_chat(provider: str, chat_id: int) -> str:
    """The chat for a key of the cache, which outlives an erasure: without the person's id."""
    return atomic_limits.hashed(f"{provider}:{chat_id}")


def resume(provider: str, chat_id: int, at: datetime | None = None) -> bool:
    """Lets the bot write again; returns whether the chat has a contact it may write to."""
    at = at or timezone.now().replace(microsecond=0)
    chat = Contact.objects.filter(provider=provider, chat_id=chat_id)
    allowed = chat.exclude(blocked_at__gt=at)
    return bool(allowed.update(blocked_at=None, shared_at=Greatest("shared_at", at)))


def mark_refused(events: Sequence[Event]) -> None:
    """Blocks the contacts whose chat the messenger refused, so that they are not tried again."""
    unreachable = [event for event in events if event.kind is EventKind.UNREACHABLE]
    if not unreachable:
        return
    gone_codes = frozenset[str]().union(*(bot.gone_codes for bot in _bots().values()))
    if ids := [event.attempt_id for event in unreachable if event.code in gone_codes]:
        execute(_MARK_REFUSED, [ids])


def delete_unconfirmed(limit: int) -> int:
    expired = Contact.objects.filter(confirmed_at__lt=timezone.now() - LIFETIME)
    return delete_rows(expired.order_by("confirmed_at"), limit)


def invitations() -> list[BotInvitation]:
    """An invitation for each bot with a configured username."""
    return [invitation for name in _bots() if (invitation := _invitation_of(name))]


def invitation_of(message_id: UUID) -> BotInvitation | None:
    """The invitation to the bot of the last attempt, if it could not reach the person."""
    last = Attempt.objects.filter(message_id=message_id).order_by("-n").first()
    return _invitation_of(last.provider) if last and last.error_class == "unreachable" else None


def error_fields(message_id: UUID) -> dict[str, Any]:
    """Fields to add to the API's error: a specific message and `action_url`."""
    invitation = invitation_of(message_id)
    if invitation is None:
        return {}
    message = format_lazy(MESSAGE, url=invitation.url, messenger=invitation.messenger)
    return {"message": message, "action_url": invitation.url}


def _bots() -> dict[str, Bot]:
    live = registry.live_providers().items()
    return {name: account for name, account in live if isinstance(account, Bot)}


def _invitation_of(provider: str) -> BotInvitation | None:
    bot = _bots().get(provider)
    return BotInvitation(bot.channel, bot.contact_url) if bot and bot.contact_url else None
