"""Applies what people do in our bots' chats: contacts, /start, /stop, and the bots' replies."""

from datetime import datetime
from functools import partial

from django.conf import settings
from django.core.cache import cache
from django.db import transaction

from channels.phone_numbers import e164_or_none
from channels.providers.bot import BotText
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    Started,
    Stopped,
    TextReceived,
)
from channels.recipients import blocked_phones, contacts
from channels.tasks import send_bot_reply

REPLY_COOLDOWN = 10  # seconds between equal replies to one chat
REQUEST_LIFETIME = 7 * 86400  # seconds in which a contact may answer the bot's request


def apply(provider: str, update: BotUpdate, at: datetime | None) -> None:
    reply = partial(_reply, provider, update.chat_id)
    match _as_command(update):
        case ContactShared(chat_id=chat_id, locale=locale, needs_request=True) if not cache.get(
            _request_key(provider, chat_id)
        ):
            reply(locale, BotText.SHARE)
        case ContactShared(phone, chat_id, locale):
            number = e164_or_none(phone, settings.OPERATOR_COUNTRY) or phone
            if contacts.store_contact(provider, phone=number, chat_id=chat_id, at=at):
                reply(locale, BotText.READY)
        case Started(chat_id, locale):
            is_known = contacts.resume(provider, chat_id, at)
            reply(locale, BotText.READY if is_known else BotText.SHARE)
        case Stopped(chat_id, locale):
            contacts.stop(provider, chat_id, at)
            reply(locale, BotText.STOPPED)
        case BotBlocked(chat_id, blocked=True):
            contacts.stop(provider, chat_id, at)
        case BotBlocked(chat_id):
            contacts.resume(provider, chat_id, at)


def _as_command(update: BotUpdate) -> BotUpdate:
    if isinstance(update, TextReceived):
        if blocked_phones.is_stop(update.text):
            return Stopped(update.chat_id, update.locale)
        if blocked_phones.is_start(update.text):
            return Started(update.chat_id, update.locale)
    return update


def _reply(provider: str, chat_id: int, locale: str, text: BotText) -> None:
    """Replies at most once per cool-down: the messenger would throttle the bot for everybody."""
    if text is BotText.SHARE:
        cache.set(_request_key(provider, chat_id), 1, REQUEST_LIFETIME)
    chat = contacts.hashed_chat(provider, chat_id)
    if not cache.add(f"bot-answer:{chat}:{text.value}", 1, REPLY_COOLDOWN):
        return
    transaction.on_commit(partial(send_bot_reply.delay, provider, chat_id, locale, text.value))


def _request_key(provider: str, chat_id: int) -> str:
    return f"bot-request:{contacts.hashed_chat(provider, chat_id)}"
