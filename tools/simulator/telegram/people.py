"""What people do to the bot, as Telegram's updates."""

import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from tools.simulator.messages.phones import Phone
from tools.simulator.vendor import Json, Post


@dataclass(frozen=True, slots=True)
class Webhook:
    url: str
    secret: str

    def carrying(self, update: Json) -> Callable[[], Post | None]:
        """A call that brings this update, or none where the bot wants no updates."""
        if not self.url:
            return lambda: None
        headers = {"Content-Type": "application/json"}
        if self.secret:
            headers["X-Telegram-Bot-Api-Secret-Token"] = self.secret
        post = Post(self.url, json.dumps(update).encode(), headers, any_2xx=True)
        return lambda: post


def contact_update(number: int, phone: Phone) -> Json:
    """The person pressed "share my number": the card is the person's own."""
    user = _user(phone)
    contact = {
        "phone_number": phone.digits,
        "first_name": user["first_name"],
        "user_id": user["id"],
    }
    message = {
        "message_id": number,
        "from": user,
        "chat": _chat(user),
        "date": int(time.time()),
        "contact": contact,
    }
    return {"update_id": number, "message": message}


def command_update(number: int, phone: Phone, word: str) -> Json:
    """The person wrote a command, or opened a link that writes one."""
    user = _user(phone)
    length = len(word.partition(" ")[0])
    message = {
        "message_id": number,
        "from": user,
        "chat": _chat(user),
        "date": int(time.time()),
        "text": word,
        "entities": [{"offset": 0, "length": length, "type": "bot_command"}],
    }
    return {"update_id": number, "message": message}


def block_update(number: int, phone: Phone) -> Json:
    user = _user(phone)
    statuses = ("member", "kicked") if phone.blocked else ("kicked", "member")
    old, new = (_membership(status) for status in statuses)
    change = {
        "chat": _chat(user),
        "from": user,
        "date": int(time.time()),
        "old_chat_member": old,
        "new_chat_member": new,
    }
    return {"update_id": number, "my_chat_member": change}


def _user(phone: Phone) -> Json:
    return {
        "id": int(phone.digits),
        "is_bot": False,
        "first_name": "Абонент",
        "language_code": "ru",
    }


def _chat(user: Json) -> Json:
    return {"id": user["id"], "first_name": user["first_name"], "type": "private"}


def _membership(status: str) -> dict[str, Any]:
    bot = {"id": 1, "is_bot": True, "first_name": "Simulator", "username": "simulator_bot"}
    until = {"until_date": 0} if status == "kicked" else {}
    return {"user": bot, "status": status, **until}
