"""MAX Bot API, as https://github.com/max-messenger/api-schema (version 0.0.33) words it.

It has no receipts. A person's id has the phone's digits; the dialog with them has another id.
"""

import hashlib
import hmac
import json
import re
import time
from collections.abc import Mapping
from typing import Any

from aiohttp import web

from tools.simulator.bots import Bot, ContactChange
from tools.simulator.carrier import Carrier
from tools.simulator.faults import FaultPlan
from tools.simulator.messages import Message, Phone
from tools.simulator.request_bodies import json_object, whole
from tools.simulator.vendor import Json, MakePost, Post, RefusedError, is_callback, json_response

BOT_ID = 229229229
SECRET = re.compile(r"[\w-]{5,256}", re.ASCII)
MAX_TEXT_LENGTH = 4000
MAX_BUTTONS = 210
MAX_ROWS = 30
MAX_IN_ROW = 7
MAX_WIDE_IN_ROW = 3
WIDE = {"link", "request_contact"}
# What each type that the service uses has to carry, with its longest length.
BUTTONS: dict[str, tuple[tuple[str, int], ...]] = {
    "clipboard": (("payload", 1024),),
    "link": (("url", 2048),),
    "request_contact": (),
}
UPDATE_TYPES = frozenset(
    {
        *("message_created", "message_callback", "message_edited", "message_removed"),
        *("bot_added", "bot_removed", "user_added", "user_removed", "chat_title_changed"),
        *("bot_started", "bot_stopped", "dialog_cleared", "dialog_removed"),
        *("dialog_muted", "dialog_unmuted", "bot_admin_permissions_changed"),
        *("comment_created", "comment_edited", "comment_removed"),
    }
)
VCARD = "BEGIN:VCARD\r\nVERSION:3.0\r\nTEL;TYPE=cell:{0}\r\nFN:Абонент\r\nEND:VCARD\r\n"


def _refused(status: int, code: str, message: str) -> RefusedError:
    return RefusedError({"code": code, "message": message}, status)


NO_TOKEN = _refused(401, "verify.token", "Invalid access_token")
NOT_FOUND = _refused(404, "not.found", "Path is not found")
SUSPENDED = _refused(403, "chat.denied", "Key: error.dialog.suspended, args: []")
NO_DIALOG = _refused(404, "dialog.not.found", "error.dialog.notfound")
REFUSALS = {
    "unreachable": SUSPENDED,
    "refuse": _refused(400, "proto.payload", "errors.send.message.denied"),
    "account": NO_TOKEN,
    "throttle": _refused(429, "too.many.requests", "Too many requests"),
}


def _malformed(message: str) -> RefusedError:
    return _refused(400, "proto.payload", message)


class MaxBot(Bot):
    name = "max_bot"
    channel = "max"
    malformed = _malformed("Can't deserialize body")
    nobody = NO_DIALOG
    unstarted = NO_DIALOG
    blocked = SUSPENDED

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._token = self.settings.variable("MAX_BOT_TOKEN")
        # As set by the bot; before, the real service.
        self._subscriptions: dict[str, Json] = {
            f"{self.settings.public_url}/hooks/max-bot": {
                "secret": self.settings.variable("MAX_BOT_SECRET"),
                "update_types": None,
            }
        }

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/max-bot/messages", self.send),
            web.get("/max-bot/me", self.me),
            web.get("/max-bot/subscriptions", self.subscriptions),
            web.post("/max-bot/subscriptions", self.subscribe),
            web.route("*", "/max-bot/{tail:.*}", self.unknown),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        self._check_token(request)
        message = self._message(request.query, json_object(await request.read()))
        return await self.carrier.carry(request, self, message)

    async def me(self, request: web.Request) -> web.Response:
        self._check_token(request)
        return json_response(self._bot())

    async def subscriptions(self, request: web.Request) -> web.Response:
        self._check_token(request)
        shown = [
            {"url": url, "time": int(time.time() * 1000), "update_types": body["update_types"]}
            for url, body in self._subscriptions.items()
            if "webhook" not in self.carrier.missing
        ]
        return json_response({"subscriptions": shown})

    async def subscribe(self, request: web.Request) -> web.Response:
        self._check_token(request)
        body = json_object(await request.read())
        url, secret, types = (body.get(name) for name in ("url", "secret", "update_types"))
        if not isinstance(url, str) or not is_callback(url, plain_http=False):
            return json_response({"success": False, "message": "url must start with https://"})
        if secret is not None and not (isinstance(secret, str) and SECRET.fullmatch(secret)):
            raise _malformed("secret: must match ^[\\w-]+$, 5 to 256 characters")
        if types is not None and not (isinstance(types, list) and set(types) <= UPDATE_TYPES):
            raise _malformed("update_types: unknown type")
        self._subscriptions[url] = {"secret": secret or "", "update_types": types}
        self.carrier.missing.discard("webhook")
        return json_response({"success": True})

    async def unknown(self, request: web.Request) -> web.Response:
        self._check_token(request)
        raise NOT_FOUND

    def accepted(self, message: Message) -> web.Response:
        body = {"mid": message.provider_id, "seq": message.id, "text": message.extra["text"]}
        if message.extra["attachments"]:
            body["attachments"] = message.extra["attachments"]
        sent = {
            "sender": self._bot(),
            "recipient": _recipient(message.phone) | {"user_id": int(message.phone)},
            "timestamp": int(message.at * 1000),
            "body": body,
        }
        return json_response({"message": sent})

    def refusal(self, kind: str, message: Message) -> RefusedError:
        return REFUSALS[kind]

    def events(self, plan: FaultPlan) -> list[str]:
        return []

    def updates(self, phone: Phone, change: ContactChange) -> list[MakePost]:
        if not self._token:
            return []
        updates: list[Json] = []
        if change.action == "block":  # the person removes the dialog
            ends = ("bot_stopped", "dialog_removed") if change.changes_block else ()
            updates += [_dialog_update(phone, kind) for kind in ends]
        elif change.changes_block or change.action == "start" or change.shares:
            updates.append(_dialog_update(phone, "bot_started"))
        if change.shares:
            updates.append(_message_update(phone, attachments=[self._card(phone.digits)]))
        if change.action == "stop":
            updates.append(_message_update(phone, text="/stop"))
        return [
            _carrying(url, options["secret"] or "", body)
            for body in updates
            for url, options in self._subscriptions.items()
            if options["update_types"] is None or body["update_type"] in options["update_types"]
        ]

    def _card(self, digits: str) -> Json:
        vcf = VCARD.format(digits)
        signed = hmac.digest(self._token.encode(), vcf.encode(), hashlib.sha256).hex()
        owner = _person(digits)
        return {"type": "contact", "payload": {"vcf_info": vcf, "hash": signed, "max_info": owner}}

    def _check_token(self, request: web.Request) -> None:
        if not self._token or request.headers.get("Authorization") != self._token:
            raise NO_TOKEN

    def _bot(self) -> Json:
        name = {
            "first_name": "Simulator",
            "username": self.settings.variable("MAX_BOT_USERNAME", "simulator_bot"),
        }
        return {"user_id": BOT_ID, **name, "is_bot": True, "name": "Simulator"}

    def _message(self, query: Mapping[str, str], body: dict[str, Any]) -> Message:
        number = whole(query.get("user_id"))
        if number is None:
            raise _malformed("Unknown recipient")
        phone = self.reachable(number)
        text, buttons = body.get("text"), _buttons(body.get("attachments"))
        if not isinstance(text, str) or not text.strip():
            raise _malformed("text: must not be empty")
        if len(text) > MAX_TEXT_LENGTH:
            raise _malformed(f"text: size must be between 0 and {MAX_TEXT_LENGTH}")
        number = self.carrier.log.next_id()
        labels = [f"{button['text']}: {value}" for button in buttons if (value := _value(button))]
        links = [button["url"] for button in buttons if "url" in button]
        message = self.message(f"mid.{number:032x}", phone, text, buttons=links)
        message.text, message.state, message.id = "\n".join([text, *labels]), "delivered", number
        message.extra = {"text": text, "attachments": body.get("attachments")}
        return message


def _carrying(url: str, secret: str, update: Json) -> MakePost:
    headers = {"Content-Type": "application/json"}
    if secret:
        headers["X-Max-Bot-Api-Secret"] = secret
    post = Post(url, json.dumps(update, ensure_ascii=False).encode(), headers, or_403=True)
    return lambda: post


def _now() -> int:
    return int(time.time() * 1000)


def _person(digits: str) -> Json:
    """A person as in real updates: without `username`, which the schema calls nullable."""
    return {"user_id": int(digits), "first_name": "Абонент", "is_bot": False, "name": "Абонент"}


def _recipient(digits: str) -> Json:
    return {"chat_id": -int(digits), "chat_type": "dialog"}


def _dialog_update(phone: Phone, kind: str) -> Json:
    update = {"update_type": kind, "timestamp": _now(), "chat_id": -int(phone.digits)}
    started = {"payload": "contact"} if kind == "bot_started" else {}
    return {**update, "user": _person(phone.digits), "user_locale": "ru", **started}


def _message_update(phone: Phone, **content: object) -> Json:
    moment = _now()
    message = {
        "sender": _person(phone.digits),
        "recipient": _recipient(phone.digits) | {"user_id": BOT_ID},
        "timestamp": moment,
        "body": {"mid": f"mid.{moment:032x}", "seq": moment, **content},
    }
    update = {"update_type": "message_created", "timestamp": moment, "user_locale": "ru"}
    return update | {"message": message}


def _buttons(attachments: object) -> list[Json]:
    """The buttons of the keyboard, the only attachment that our bots send."""
    if attachments is None:
        return []
    if not isinstance(attachments, list):
        raise _malformed("attachments: must be a list")
    rows = [row for attachment in attachments for row in _rows(attachment)]
    buttons = [_checked(button) for row in rows for button in row]
    if len(rows) > MAX_ROWS or len(buttons) > MAX_BUTTONS:
        raise _malformed("buttons: too many")
    for row in rows:
        wide = any(button["type"] in WIDE for button in row)
        if not 1 <= len(row) <= (MAX_WIDE_IN_ROW if wide else MAX_IN_ROW):
            raise _malformed("buttons: too many in a row")
    return buttons


def _rows(attachment: object) -> list[list[Any]]:
    if not isinstance(attachment, dict) or attachment.get("type") != "inline_keyboard":
        raise _malformed("attachments: unknown type")
    payload = attachment.get("payload")
    rows = payload.get("buttons") if isinstance(payload, dict) else None
    if not isinstance(rows, list) or not rows or not all(isinstance(row, list) for row in rows):
        raise _malformed("buttons: must be rows of buttons")
    return rows


def _checked(button: object) -> Json:
    if not isinstance(button, dict) or button.get("type") not in BUTTONS:
        raise _malformed("button: unknown type")
    for name, longest in (("text", 128), *BUTTONS[button["type"]]):
        value = button.get(name)
        if not isinstance(value, str) or not 1 <= len(value) <= longest:
            raise _malformed(f"button.{name}: size must be between 1 and {longest}")
    return button


def _value(button: Json) -> str:
    return str(button.get("url") or button.get("payload") or "")
