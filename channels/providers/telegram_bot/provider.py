"""Telegram Bot API: text and links to people who shared their contact with our bot.

https://core.telegram.org/bots/api
"""

import logging
from collections.abc import Iterator

import orjson

from channels.providers import http
from channels.providers.base import (
    Accepted,
    Check,
    Content,
    Outgoing,
    RefusedError,
    SendError,
)
from channels.providers.bot import (
    Bot,
    BotText,
    locale_of,
    phone_of,
    text_received,
    texts,
)
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    InboundEvents,
    WebhookRequest,
)

logger = logging.getLogger(__name__)

_UPDATES = ("message", "my_chat_member")  # shared contacts and commands; blocks of the bot
# The API has no table of errors: https://core.telegram.org/bots/api#making-requests. Its server
# reports most of these with a 403; some methods return the same texts with a 400:
# `fail_query_with_error` of https://github.com/tdlib/telegram-bot-api (28 November 2026).
_CHAT_GONE = (
    "chat not found",
    "user not found",
    "peer_id_invalid",
    "user_is_blocked",
    "blocked by the user",
    "user_deactivated",
    "user is deactivated",
    "can't initiate conversation",
)
_ID_BOUND = 2**52  # ids have at most 52 significant bits: core.telegram.org/bots/api#user


class TelegramBot(Bot):
    name = "telegram_bot"
    channel = "telegram"
    site = "https://t.me"
    gone_codes = frozenset({"400", "403"})  # no such chat; the bot is blocked

    def send(self, message: Outgoing) -> Accepted:
        payload: http.Json = {
            "chat_id": self._chat_of(message),
            "text": message.text,
            "link_preview_options": {"is_disabled": True},
            "protect_content": message.content is not Content.LINK,
        }
        if message.short_url:
            button = {"text": texts(message.locale)["open"], "url": message.short_url}
            payload["reply_markup"] = {"inline_keyboard": [[button]]}
        return self._deliver(payload)

    def check(self) -> None:
        response = self._query(f"/bot{self._token}/getMe")
        name = http.text(self._result(response).get("username")) or ""
        if self._username and name.lower() != self._username.lower():
            detail = f"Telegram calls the bot @{name}, the settings @{self._username}"
            raise RefusedError("username", detail, account=True)

    def _webhook(self, hook_url: str) -> Iterator[Check]:
        info = self._result(self._query(f"/bot{self._token}/getWebhookInfo"))
        address = http.text_of(info, "url")
        yield Check("webhook_address", address == hook_url, address)
        # An empty or absent list means all kinds but a few, none of which are these.
        updates = info.get("allowed_updates")
        allowed = updates if isinstance(updates, list) and updates else _UPDATES
        missing = [name for name in _UPDATES if name not in allowed]
        yield Check("webhook_fields", not missing, ", ".join(missing))
        last_error = http.redact(info.get("last_error_message"), self._token)
        pending = http.number(info.get("pending_update_count")) or 0
        yield Check("webhook_calls", not (last_error and pending), last_error)

    def answer(self, chat_id: int, locale: str, reply: BotText) -> None:
        button = {"text": texts(locale)["share_number"], "request_contact": True}
        contact_keyboard = {
            "keyboard": [[button]],
            "one_time_keyboard": True,
            "resize_keyboard": True,
        }
        keyboard = contact_keyboard if reply is BotText.SHARE else {"remove_keyboard": True}
        payload = {"chat_id": chat_id, "text": texts(locale)[reply], "reply_markup": keyboard}
        self._deliver(payload)

    def notify(self, chat: str, text: str) -> None:
        """Writes to one of our chats by its id, or to a channel by its @name."""
        is_id = chat.removeprefix("-").isdecimal()
        payload: http.Json = {
            "chat_id": int(chat) if is_id else chat,
            "text": text,
            "link_preview_options": {"is_disabled": True},
        }
        response = self._send_message(payload)
        moved_to = http.mapping(response.data.get("parameters")).get("migrate_to_chat_id")
        if moved_to is not None:  # the group became a supergroup, which has another id
            logger.warning("the operators' chat has a new id: %s", moved_to)
            response = self._send_message(payload | {"chat_id": moved_to})
        self._result(response)

    def _send_message(self, payload: http.Json) -> http.VendorResponse:
        return self._post(f"/bot{self._token}/sendMessage", orjson.dumps(payload))

    def _deliver(self, payload: http.Json) -> Accepted:
        message_id = http.text(self._result(self._send_message(payload)).get("message_id"))
        # Telegram numbers messages per chat, and an account may switch to another bot.
        bot_id = self._token.partition(":")[0]
        return Accepted(message_id and f"{bot_id}:{payload['chat_id']}:{message_id}")

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        secret = self._secret_token
        http.require_signature(call, "X-Telegram-Bot-Api-Secret-Token", secret, secret=secret)
        update = http.parse(call.body)
        message, membership = map(http.mapping, map(update.get, _UPDATES))
        read = (_message_update(message), _membership_update(membership))
        updates = [change for change in read if change]
        at = http.from_timestamp((message or membership).get("date"))
        return InboundEvents(call.body, bot_updates=updates, updated_at=at)

    def _result(self, response: http.VendorResponse) -> http.Json:
        if response.data.get("ok") is not True:
            raise self._refusal(response)
        return http.mapping(response.data.get("result"))

    def _refusal(self, response: http.VendorResponse) -> SendError:
        code = response.data.get("error_code")
        detail = str(response.data.get("description"))
        if response.data.get("ok") is not False or not isinstance(code, int):
            return response.undocumented_error()
        if code == 429:  # the limit is the whole bot's
            wait = http.number(http.mapping(response.data.get("parameters")).get("retry_after"))
            return response.error(http.ACCOUNT_THROTTLED, code, detail, retry_after=wait)
        if code == 403 or (code == 400 and any(phrase in detail.lower() for phrase in _CHAT_GONE)):
            return response.error(http.UNREACHABLE, code, detail)
        if code in {401, 404}:
            return response.error(http.ACCOUNT_REFUSED, code, detail)
        if code == 400 or (code < 500 and response.status < 500):
            return response.error(http.REFUSED, code, detail)
        return response.error(http.AMBIGUOUS, code, detail)


def _private_chat(event: http.Json) -> int | None:
    chat = http.mapping(event.get("chat"))
    chat_id = chat.get("id")
    if chat.get("type") != "private" or type(chat_id) is not int or not 0 < chat_id < _ID_BOUND:
        return None
    return chat_id


def _message_update(message: http.Json) -> BotUpdate | None:
    chat_id = _private_chat(message)
    sender = http.mapping(message.get("from"))
    if chat_id is None:
        return None
    if "contact" in message:
        contact = http.mapping(message.get("contact"))
        # Another person's card, or a forwarded one of their own, does not prove the number.
        is_own = isinstance(sender.get("id"), int) and contact.get("user_id") == sender["id"]
        phone = phone_of(http.text_of(contact, "phone_number"))
        if not (is_own and phone) or "forward_origin" in message:
            return None
        return ContactShared(phone, chat_id, _locale(sender))
    return text_received(http.text_of(message, "text"), chat_id, _locale(sender))


def _locale(sender: http.Json) -> str:
    return locale_of(sender.get("language_code"))


def _membership_update(event: http.Json) -> BotBlocked | None:
    chat_id = _private_chat(event)
    status = http.mapping(event.get("new_chat_member")).get("status")
    if chat_id is None or status not in ("kicked", "member"):
        return None
    return BotBlocked(chat_id, blocked=status == "kicked")
