"""Telegram Bot API, as https://core.telegram.org/bots/api words it. It has no receipts at all.

A phone's chat with the bot has the phone's digits as its id.
"""

import json
import re
import time
from functools import partial
from itertools import count
from typing import Any
from urllib.parse import urlsplit

from aiohttp import web

from tools.simulator.bots import Bot, ContactChange
from tools.simulator.carrier import Carrier
from tools.simulator.faults import FaultPlan
from tools.simulator.messages import Message, Phone
from tools.simulator.request_bodies import MalformedError, fields, json_object, mappings, whole
from tools.simulator.vendor import Json, MakePost, Post, RefusedError, json_response

TOKEN = re.compile(r"[0-9]{1,20}:[\w-]{1,128}", re.ASCII)
MAX_TEXT_LENGTH = 4096
COMMANDS = {"start": "/start contact", "stop": "/stop"}
CANNOT_START = "Forbidden: bot can't initiate conversation with a user"
ACTIONS = ("url", "callback_data", "web_app", "login_url", "copy_text", "switch_inline_query")


def _refused(status: int, description: str, **parameters: int) -> RefusedError:
    body: Json = {"ok": False, "error_code": status, "description": description}
    return RefusedError(body | ({"parameters": parameters} if parameters else {}), status)


REFUSALS = {
    "unreachable": _refused(403, CANNOT_START),
    "refuse": _refused(400, "Bad Request: BUTTON_URL_INVALID"),
    "account": _refused(401, "Unauthorized"),
    "throttle": _refused(429, "Too Many Requests: retry after 1", retry_after=1),
}
NOT_FOUND = _refused(404, "Not Found")


class TelegramBot(Bot):
    name = "telegram_bot"
    channel = "telegram"
    malformed = _refused(400, "Bad Request: can't parse the request body")
    nobody = _refused(400, "Bad Request: chat not found")
    blocked = _refused(403, "Forbidden: bot was blocked by the user")
    unstarted = REFUSALS["unreachable"]

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._updates = count(int(time.time()))

    def routes(self) -> list[web.RouteDef]:
        return [
            web.route("*", "/telegram-bot/bot{token:[^/]*}/{method:[^/]*}", self.call),
            web.route("*", "/telegram-bot/{tail:.*}", self.unknown),
        ]

    async def call(self, request: web.Request) -> web.StreamResponse:
        method, token = request.match_info["method"].lower(), request.match_info["token"]
        if not TOKEN.fullmatch(token):
            raise NOT_FOUND
        if token != self.settings.variable("TELEGRAM_BOT_TOKEN"):
            raise _refused(401, "Unauthorized")
        if method == "sendmessage":
            message = self._message(await fields(request))
            return await self.carrier.carry(request, self, message)
        if method not in {"getme", "getwebhookinfo"}:
            raise NOT_FOUND
        result = self._get_me() if method == "getme" else self._webhook_info()
        return json_response({"ok": True, "result": result})

    async def unknown(self, _request: web.Request) -> web.Response:
        raise NOT_FOUND

    def accepted(self, message: Message) -> web.Response:
        result = {
            "message_id": message.id,
            "from": self._get_me(),
            "chat": {"id": int(message.phone), "first_name": "Абонент", "type": "private"},
            "date": int(message.at),
            "text": message.extra["text"],
        }
        if message.extra["reply_markup"]:
            result["reply_markup"] = message.extra["reply_markup"]
        return json_response({"ok": True, "result": result})

    def refusal(self, kind: str, message: Message) -> RefusedError:
        return REFUSALS[kind]

    def events(self, plan: FaultPlan) -> list[str]:
        return []

    def updates(self, phone: Phone, change: ContactChange) -> list[MakePost]:
        updates: list[Json] = []
        if change.changes_block:
            updates.append(self._block_update(phone))
        if change.shares:
            name = {"first_name": "Абонент", "user_id": int(phone.digits)}
            card = {"phone_number": phone.digits, **name}
            updates.append(self._message_update(phone, contact=card))
        if word := COMMANDS.get(change.action):
            length = len(word.partition(" ")[0])
            entity = {"offset": 0, "length": length, "type": "bot_command"}
            updates.append(self._message_update(phone, text=word, entities=[entity]))
        return [self._carrying(body) for body in updates]

    def _message_update(self, phone: Phone, **content: object) -> Json:
        number = next(self._updates)
        return {"update_id": number, "message": {"message_id": number, **_from(phone), **content}}

    def _block_update(self, phone: Phone) -> Json:
        bot = {"id": 1, "is_bot": True, "first_name": "Simulator", "username": "simulator_bot"}
        member = {"user": bot, "status": "member"}
        kicked = {"user": bot, "status": "kicked", "until_date": 0}
        old, new = (member, kicked) if phone.blocked else (kicked, member)
        change = {**_from(phone), "old_chat_member": old, "new_chat_member": new}
        return {"update_id": next(self._updates), "my_chat_member": change}

    def _message(self, fields: dict[str, Any]) -> Message:
        chat_id = fields.get("chat_id")
        if chat_id is None or chat_id == "":
            raise _refused(400, "Bad Request: chat_id is empty")
        phone = self.reachable(whole(chat_id) or 0)
        text = fields.get("text")
        if not isinstance(text, str) or not text.strip():
            raise _refused(400, "Bad Request: message text is empty")
        if len(text.encode("utf-16-le")) // 2 > MAX_TEXT_LENGTH:
            raise _refused(400, "Bad Request: message is too long")
        sent, links = _keyboard(fields.get("reply_markup"))
        number, extra = self.carrier.log.next_id(), {"text": text, "reply_markup": sent}
        text_shown = "\n".join([text, *(f"{label}: {url}" for label, url in links)])
        message = self.message(str(number), phone, text, buttons=[url for _, url in links])
        message.text, message.extra, message.state, message.id = (
            text_shown,
            extra,
            "delivered",
            number,
        )
        return message

    def _get_me(self) -> Json:
        cannot = ("can_join_groups", "can_read_all_group_messages", "supports_inline_queries")
        number = int(self.settings.variable("TELEGRAM_BOT_TOKEN").partition(":")[0])
        me = {"id": number, "is_bot": True, "first_name": "Simulator"}
        username = self.settings.variable("TELEGRAM_BOT_USERNAME", "simulator_bot")
        return me | {"username": username} | dict.fromkeys(cannot, False)

    def _webhook_info(self) -> Json:
        return {
            "url": "" if "webhook" in self.carrier.missing else self._webhook_url,
            "has_custom_certificate": False,
            "pending_update_count": 0,
            "max_connections": 40,
            "allowed_updates": ["message", "my_chat_member"],
        }

    @property
    def _webhook_url(self) -> str:
        return f"{self.settings.public_url}/hooks/telegram-bot"

    def _carrying(self, update: Json) -> MakePost:
        """A call that brings this update."""
        headers = {"Content-Type": "application/json"}
        if secret := self.settings.variable("TELEGRAM_BOT_SECRET"):
            headers["X-Telegram-Bot-Api-Secret-Token"] = secret
        body = json.dumps(update).encode()
        return partial(Post, self._webhook_url, body, headers, any_2xx=True)


def _from(phone: Phone) -> Json:
    person = {"id": int(phone.digits), "first_name": "Абонент"}
    user = person | {"is_bot": False, "language_code": "ru"}
    return {"from": user, "chat": person | {"type": "private"}, "date": int(time.time())}


def _keyboard(markup: object) -> tuple[Json | None, list[tuple[str, str]]]:
    """`reply_markup`, an object or the JSON that a form carries, and the links of its buttons."""
    wrong = _refused(400, "Bad Request: can't parse reply keyboard markup JSON object")
    try:
        if isinstance(markup, str) and markup:
            markup = json_object(markup.encode())
    except MalformedError:
        raise wrong from None
    if not markup:
        return None, []
    if not isinstance(markup, dict):
        raise wrong
    rows = markup.get("inline_keyboard", [])
    if not isinstance(rows, list):
        raise wrong
    if "inline_keyboard" not in markup:
        return None, []  # a reply keyboard is the person's: the message does not have it
    return markup, [link for row in rows for button in mappings(row) for link in _link(button)]


def _link(button: Json) -> list[tuple[str, str]]:
    label, url = button.get("text"), button.get("url")
    if not isinstance(label, str) or not label.strip():
        raise _refused(400, "Bad Request: inline keyboard button text is empty")
    if not any(action in button for action in ACTIONS):
        text = "Bad Request: Text buttons are unallowed in the inline keyboard"
        raise _refused(400, text)
    if "url" not in button:
        return []
    if not isinstance(url, str) or not _opens(url):
        raise _refused(400, "Bad Request: BUTTON_URL_INVALID")
    return [(label, url)]


def _opens(url: str) -> bool:
    try:
        parts = urlsplit(url)
    except ValueError:
        return False
    return parts.scheme in {"http", "https", "tg"} and bool(parts.netloc) and " " not in url
