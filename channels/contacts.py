"""People who let our Telegram bot write to them."""

from functools import partial

from django.db import transaction
from django.db.models.functions import Now

from channels.models import Contact
from channels.providers.base import Inbound, InvalidSignatureError
from channels.providers.telegram_bot import BotBlocked, ContactShared, Started, TelegramBot
from channels.registry import live_providers
from channels.tasks import ask_contact


def receive(call: Inbound) -> None:
    """Keep what the bot was told: a contact, a block, a greeting to answer."""
    bot = live_providers().get("telegram_bot")
    if not isinstance(bot, TelegramBot):
        raise InvalidSignatureError("no bot is configured")
    for update in bot.updates(call):
        match update:
            case ContactShared(phone, chat_id):
                share(phone=phone, chat_id=chat_id)
            case BotBlocked(chat_id, blocked):
                Contact.objects.filter(chat_id=chat_id).update(
                    blocked_at=Now() if blocked else None
                )
            case Started(chat_id, locale):
                transaction.on_commit(partial(ask_contact.delay, chat_id, locale))


@transaction.atomic
def share(*, phone: str, chat_id: int) -> None:
    """A chat has one phone and a phone one chat: the newest claim holds."""
    Contact.objects.filter(chat_id=chat_id).exclude(phone=phone).delete()
    Contact.objects.update_or_create(
        phone=phone, defaults={"chat_id": chat_id, "shared_at": Now(), "blocked_at": None}
    )
