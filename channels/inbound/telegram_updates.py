"""Applies updates of our Telegram bot: shared contacts, blocks, commands."""

from functools import partial

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from channels.phone_numbers import e164_or_none
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    Said,
    Started,
    Stopped,
)
from channels.providers.telegram_bot.provider import BotText
from channels.recipients import opt_out, telegram_contacts
from channels.tasks import send_telegram_reply

REPLY_COOLDOWN = 10  # seconds between equal replies to one chat


def apply(update: BotUpdate) -> None:
    match _as_command(update):
        case ContactShared(phone, chat_id, locale):
            number = e164_or_none(phone, settings.OPERATOR_COUNTRY) or phone
            telegram_contacts.share(phone=number, chat_id=chat_id)
            _reply(chat_id, locale, BotText.READY)
        case Started(chat_id, locale):
            _reply(
                chat_id,
                locale,
                BotText.READY if telegram_contacts.resume(chat_id) else BotText.SHARE,
            )
        case Stopped(chat_id, locale):
            telegram_contacts.stop(chat_id)
            _reply(chat_id, locale, BotText.STOPPED)
        case BotBlocked(chat_id, blocked=True):
            telegram_contacts.stop(chat_id)
        case BotBlocked(chat_id):
            telegram_contacts.resume(chat_id)


def _as_command(update: BotUpdate) -> BotUpdate:
    if isinstance(update, Said):
        if opt_out.is_stop(update.text):
            return Stopped(update.chat_id, update.locale)
        if opt_out.is_start(update.text):
            return Started(update.chat_id, update.locale)
    return update


def _reply(chat_id: int, locale: str, text: BotText) -> None:
    """At most one per cool-down: Telegram would throttle the bot for everybody."""
    if not _is_first(chat_id, text):
        return
    transaction.on_commit(partial(send_telegram_reply.delay, chat_id, locale, text.value))


def _is_first(chat_id: int, text: BotText) -> bool:
    return cache.add(f"bot-answer:{chat_id}:{text.value}", 1, REPLY_COOLDOWN)
