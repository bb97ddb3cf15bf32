"""Telegram Bot API, as https://core.telegram.org/bots/api words it. It has no receipts at all.

A phone's chat with the bot has the phone's digits as its id.
"""

import re
import time
from collections.abc import Callable
from functools import partial
from itertools import count
from typing import Any

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import FaultPlan
from tools.simulator.messages import message_content
from tools.simulator.messages.message import Message
from tools.simulator.messages.phones import Phone
from tools.simulator.request_bodies import MalformedError, fields, whole
from tools.simulator.telegram.keyboards import ButtonError, Keyboard, read_keyboard
from tools.simulator.telegram.people import Webhook, block_update, command_update, contact_update
from tools.simulator.vendor import HttpVendor, Json, is_callback, json_answer

TOKEN = re.compile(r"[0-9]{1,20}:[\w-]{1,128}", re.ASCII)
SECRET = re.compile(r"[\w-]{1,256}", re.ASCII)
LONGEST_TEXT = 4096
BLOCKING = {"block", "unblock", "share", "start"}  # what changes whether the bot is blocked
WORDS = {"start": "/start contact", "stop": "/stop"}
CANNOT_START = "Forbidden: bot can't initiate conversation with a user"
BLOCKED = "Forbidden: bot was blocked by the user"


class RefusedError(Exception):
    def __init__(self, status: int, description: str, **parameters: int) -> None:
        super().__init__(description)
        self.status = status
        self.description = description
        self.parameters = parameters


REFUSALS = {
    "unreachable": RefusedError(403, CANNOT_START),
    "refuse": RefusedError(400, "Bad Request: BUTTON_URL_INVALID"),
    "account": RefusedError(401, "Unauthorized"),
    "throttle": RefusedError(429, "Too Many Requests: retry after 1", retry_after=1),
}


class TelegramBot(HttpVendor):
    name = "telegram_bot"
    channel = "telegram"

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._settings = carrier.settings
        self._updates = count(int(time.time()))
        self._methods: dict[str, Callable[[dict[str, Any]], Json | bool]] = {
            "getme": self._get_me,
            "setwebhook": self._set_webhook,
            "deletewebhook": self._delete_webhook,
            "getwebhookinfo": self._webhook_info,
        }

    def routes(self) -> list[web.RouteDef]:
        return [
            web.route("*", "/telegram-bot/bot{token:[^/]*}/{method:[^/]*}", self.call),
            web.route("*", "/telegram-bot/{tail:.*}", self.unknown),
        ]

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"].lower()
        try:
            self._check_token(request.match_info["token"])
            given = await fields(request)
            if method == "sendmessage":
                message = self._message(given)
                return await self._carrier.carry(request, self, message)
            answer = self._methods.get(method, _no_such_method)
            return json_answer({"ok": True, "result": answer(given)})
        except MalformedError:
            return _refusal(RefusedError(400, "Bad Request: can't parse the request body"))
        except RefusedError as refused:
            return _refusal(refused)

    async def unknown(self, _request: web.Request) -> web.Response:
        return _refusal(RefusedError(404, "Not Found"))

    def accepted(self, message: Message) -> web.Response:
        result = {
            "message_id": message.id,
            "from": self._get_me({}),
            "chat": {"id": int(message.phone), "first_name": "Абонент", "type": "private"},
            "date": int(message.at),
            "text": message.extra["text"],
        }
        if message.extra["reply_markup"]:
            result["reply_markup"] = message.extra["reply_markup"]
        return json_answer({"ok": True, "result": result})

    def refused(self, kind: str, message: Message) -> web.Response:
        return _refusal(REFUSALS[kind])

    def events(self, plan: FaultPlan) -> list[str]:
        return []

    def change_contact(self, digits: str, action: str) -> Phone:
        """A person's action; the bot gets the update that Telegram would send."""
        phone = self._carrier.log.phones.touch(digits)
        updates: list[Callable[[int, Phone], Json]] = []
        if (action == "block") != phone.blocked and action in BLOCKING:
            phone.blocked = action == "block"
            updates.append(block_update)
        if action in {"share", "unshare"}:
            phone.shared = "shared" if action == "share" else "unshared"
        if action == "share" or (action == "stop" and phone.shared == "default"):
            updates.append(contact_update)  # who has nothing to stop is known by nothing
        if action in WORDS:
            updates.append(partial(command_update, word=WORDS[action]))
        self._carrier.log.keep_contact(phone)
        self._carrier.events.changed([digits])
        webhook = self._webhook()
        bodies = [make(next(self._updates), phone) for make in updates]
        posts = [webhook.carrying(body) for body in bodies]
        self._carrier.courier.run(posts, self.name, digits)
        return phone

    def _check_token(self, token: str) -> None:
        if not TOKEN.fullmatch(token):
            raise RefusedError(404, "Not Found")
        if token != self._settings.bot_token:
            raise RefusedError(401, "Unauthorized")

    def _message(self, given: dict[str, Any]) -> Message:
        phone = self._reachable(given)
        text, keyboard = _text(given), _keyboard(given)
        read = message_content.read(text, [url for _, url in keyboard.links])
        number = self._carrier.log.next_id()
        return Message(
            channel=self.channel,
            provider=self.name,
            provider_id=str(number),
            phone=phone,
            text="\n".join([text, *(f"{label}: {url}" for label, url in keyboard.links)]),
            code=read.code,
            links=read.links,
            extra={"text": text, "reply_markup": keyboard.sent},
            state="delivered",
            id=number,
        )

    def _reachable(self, given: dict[str, Any]) -> str:
        chat_id = given.get("chat_id")
        if chat_id is None or chat_id == "":
            raise RefusedError(400, "Bad Request: chat_id is empty")
        number = whole(chat_id)
        if number is None or not 7 <= len(str(number)) <= 15 or number < 0:
            raise RefusedError(400, "Bad Request: chat not found")
        phone = self._carrier.log.phones.get(str(number))
        if phone.blocked:
            raise RefusedError(403, BLOCKED)
        if phone.shared == "unshared":
            raise RefusedError(403, CANNOT_START)
        return phone.digits

    def _get_me(self, _given: dict[str, Any]) -> Json:
        number = int(self._settings.bot_token.partition(":")[0])
        return {
            "id": number,
            "is_bot": True,
            "first_name": "Simulator",
            "username": self._settings.bot_username,
            "can_join_groups": False,
            "can_read_all_group_messages": False,
            "supports_inline_queries": False,
        }

    def _set_webhook(self, given: dict[str, Any]) -> bool:
        url, secret = given.get("url") or "", given.get("secret_token") or ""
        if url and not (isinstance(url, str) and is_callback(url, plain_http=False)):
            text = "Bad Request: bad webhook: An HTTPS URL must be provided for webhook"
            raise RefusedError(400, text)
        if secret and not (isinstance(secret, str) and SECRET.fullmatch(secret)):
            text = "Bad Request: secret token contains unallowed characters"
            raise RefusedError(400, text)
        self._carrier.log.keep_bot_webhook(url, secret)
        return True

    def _delete_webhook(self, _given: dict[str, Any]) -> bool:
        self._carrier.log.keep_bot_webhook("", "")
        return True

    def _webhook_info(self, _given: dict[str, Any]) -> Json:
        return {
            "url": "" if "webhook" in self._carrier.lacks else self._webhook().url,
            "has_custom_certificate": False,
            "pending_update_count": 0,
            "max_connections": 40,
            "allowed_updates": ["message", "my_chat_member"],
        }

    def _webhook(self) -> Webhook:
        """Where updates go: as set by the bot, or to the service that we stand in for."""
        kept = self._carrier.log.bot_webhook()
        if kept is not None:
            return Webhook(*kept)
        settings = self._settings
        return Webhook(f"{settings.public_url}/hooks/telegram-bot", settings.bot_secret)


def _no_such_method(_given: dict[str, Any]) -> Json:
    raise RefusedError(404, "Not Found")


def _text(given: dict[str, Any]) -> str:
    text = given.get("text")
    if not isinstance(text, str) or not text.strip():
        raise RefusedError(400, "Bad Request: message text is empty")
    if len(text.encode("utf-16-le")) // 2 > LONGEST_TEXT:
        raise RefusedError(400, "Bad Request: message is too long")
    return text


def _keyboard(given: dict[str, Any]) -> Keyboard:
    try:
        return read_keyboard(given.get("reply_markup"))
    except MalformedError:
        text = "Bad Request: can't parse reply keyboard markup JSON object"
        raise RefusedError(400, text) from None
    except ButtonError as wrong:
        raise RefusedError(400, f"Bad Request: {wrong}") from None


def _refusal(refused: RefusedError) -> web.Response:
    body: Json = {
        "ok": False,
        "error_code": refused.status,
        "description": refused.description,
    }
    if refused.parameters:
        body["parameters"] = refused.parameters
    return json_answer(body, refused.status)
