"""What people do in a dialog with the bot.

MAX leaves out fields that its schema requires, and adds others: only what is read has to be there.
"""

import re
from collections.abc import Callable

from channels.providers import http
from channels.providers.bot import locale_of, said
from channels.providers.inbound import BotBlocked, BotUpdate, ContactShared, Started

_ID_BOUND = 2**63  # ids are int64
_FOLD = re.compile(r"\r?\n[ \t]")  # RFC 6350, 3.2: the line goes on
_TEL = re.compile(r"(?:[\w-]+\.)?TEL(?:;[^:]*)?:(.*)", re.IGNORECASE)


def read(update: http.Json, token: str) -> BotUpdate | None:
    reader = READERS.get(http.text_of(update, "update_type"))
    return reader(update, token) if reader else None


def _started(update: http.Json, _token: str) -> BotUpdate | None:
    user_id = _person(update.get("user"))
    return None if user_id is None else Started(user_id, _locale(update))


def _ended(update: http.Json, _token: str) -> BotUpdate | None:
    user_id = _person(update.get("user"))
    return None if user_id is None else BotBlocked(user_id, blocked=True)


def _written(update: http.Json, token: str) -> BotUpdate | None:
    message = http.mapping(update.get("message"))
    user_id = _person(message.get("sender"))
    # By its type alone: the id of a dialog may be negative as that of a group is, or absent.
    chat_type = http.mapping(message.get("recipient")).get("chat_type")
    if user_id is None or chat_type != "dialog":
        return None
    body = http.mapping(message.get("body"))
    if any(item.get("type") == "contact" for item in http.objects(body.get("attachments"))):
        phone = _own_phone(message, body["attachments"], user_id, token)
        return ContactShared(phone, user_id, _locale(update), needs_request=True) if phone else None
    return said(http.text_of(body, "text"), user_id, _locale(update))


def _own_phone(message: http.Json, attachments: list[object], user_id: int, token: str) -> str:
    """The number of the sender's own card: alone, not forwarded, signed with our token; or ''."""
    card = http.mapping(http.first(attachments).get("payload"))
    vcf, owner = card.get("vcf_info"), http.mapping(card.get("max_info")).get("user_id")
    if len(attachments) != 1 or message.get("link") is not None or owner != user_id:
        return ""
    if not isinstance(vcf, str) or not _is_signed(vcf, card.get("hash"), token):
        return ""
    # Exactly one: people choose their names, and a line break in one might bring a second number.
    numbers = [
        match[1] for line in _FOLD.sub("", vcf).splitlines() if (match := _TEL.fullmatch(line))
    ]
    phone = "".join(filter("0123456789".__contains__, numbers[0])) if len(numbers) == 1 else ""
    return f"+{phone}" if 7 <= len(phone) <= 15 else ""


def _is_signed(vcf: str, signature: object, token: str) -> bool:
    """Over the text as JSON carries it, line breaks included."""
    expected = http.sha256_hmac(token.encode(), vcf.encode(errors="replace"))
    return isinstance(signature, str) and http.constant_time_equal(signature, expected)


def _person(user: object) -> int | None:
    """The id of a user who is no bot."""
    fields = http.mapping(user)
    user_id = fields.get("user_id")
    is_id = type(user_id) is int and 0 < user_id < _ID_BOUND
    return user_id if is_id and fields.get("is_bot") is not True else None


def _locale(update: http.Json) -> str:
    return locale_of(update.get("user_locale"))


# The update types that a subscription has to name. Contacts that a mini app reads come by none of
# them: a browser could have made them up.
READERS: dict[str, Callable[[http.Json, str], BotUpdate | None]] = {
    "message_created": _written,
    "bot_started": _started,
    "bot_stopped": _ended,
    "dialog_removed": _ended,
}
