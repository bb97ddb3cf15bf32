"""MAX bot: codes, links and text to people who shared their contact with our bot.

https://dev.max.ru/docs-api; https://github.com/max-messenger/api-schema, version 0.0.33
"""

import re
from collections.abc import Callable, Iterator

import orjson

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    Check,
    Outgoing,
    RefusedError,
    SendError,
)
from channels.providers.bot import Bot, BotText, locale_of, phone_of, text_received, texts
from channels.providers.inbound import (
    BotBlocked,
    BotUpdate,
    ContactShared,
    InboundEvents,
    Started,
    WebhookRequest,
)

# The person has stopped the bot or removed the chat (403), or has never opened it (404). The schema
# lists the first code; clients report the others (2026).
_GONE = frozenset({"chat.denied", "chat.not.found", "dialog.not.found"})
_ID_BOUND = 2**63  # ids are int64
_FOLD = re.compile(r"\r?\n[ \t]")  # RFC 6350, 3.2: the line goes on
_TEL = re.compile(r"(?:[\w-]+\.)?TEL(?:;[^:]*)?:(?:tel:)?(.*)", re.IGNORECASE)
_ERROR_KINDS = dict.fromkeys(_GONE, http.UNREACHABLE) | {"verify.token": http.ACCOUNT_REFUSED}


class MaxBot(Bot):
    name = "max_bot"
    channel = "max"
    site = "https://max.ru"
    authorization = "{token}"  # no scheme before it
    gone_codes = _GONE

    def send(self, message: Outgoing) -> Accepted:
        user_id = self._chat_of(message)
        labels = texts(message.locale)
        buttons: list[http.Json] = []
        if message.code:
            buttons.append({"type": "clipboard", "text": labels["copy"], "payload": message.code})
        if message.short_url:
            buttons.append({"type": "link", "text": labels["open"], "url": message.short_url})
        return self._deliver(user_id, message.text, buttons)

    def answer(self, chat_id: int, locale: str, reply: BotText) -> None:
        bot_texts = texts(locale)
        button = {"type": "request_contact", "text": bot_texts["share_number"]}
        self._deliver(chat_id, bot_texts[reply], [button] if reply is BotText.SHARE else [])

    def _deliver(self, user_id: int, text: str, buttons: list[http.Json]) -> Accepted:
        """Writes to the dialog with this person, by the person's id.

        MAX refuses the id of the dialog itself, which updates contain.
        """
        body: http.Json = {"text": text}
        if buttons:
            keyboard = {"buttons": [[button] for button in buttons]}
            body["attachments"] = [{"type": "inline_keyboard", "payload": keyboard}]
        # The schema describes the preview flag in reverse; its clients behave as the name says.
        path = f"/messages?user_id={user_id}&disable_link_preview=true"
        response = self._post(path, orjson.dumps(body))
        sent = response.data.get("message")
        if response.status >= 300 or not isinstance(sent, dict):
            raise self._refusal(response)
        return Accepted(http.text(http.mapping(sent.get("body")).get("mid")))

    def check(self) -> None:
        name = http.text_of(self._get("/me"), "username")
        if self._username and name.lower() != self._username.lower():
            detail = f"MAX calls the bot {name}, the settings {self._username}"
            raise RefusedError("username", detail, account=True)

    def _webhook(self, hook_url: str) -> Iterator[Check]:
        subscriptions = self._subscriptions()
        yield Check("webhook_address", hook_url in subscriptions, ", ".join(subscriptions))
        missing = _missing(subscriptions.get(hook_url))
        yield Check("webhook_fields", not missing, ", ".join(missing))

    def _subscriptions(self) -> dict[str, object]:
        """The update types of each subscription, by its address."""
        rows = http.objects(self._get("/subscriptions").get("subscriptions"))
        return {http.text_of(row, "url"): row.get("update_types") for row in rows}

    def renew(self, requirements: AccountRequirements) -> None:
        """Subscribes again: MAX silently drops a subscription whose address failed for 8 hours."""
        subscriptions = self._subscriptions()
        url = requirements.hook_url
        is_whole = url in subscriptions and not _missing(subscriptions[url])
        if is_whole or not self._secret_token:
            return
        body = {"url": url, "secret": self._secret_token, "update_types": list(READERS)}
        response = self._query("/subscriptions", orjson.dumps(body))
        if response.data.get("success") is not True:
            raise self._refusal(response)

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        secret = self._secret_token
        http.require_signature(call, "X-Max-Bot-Api-Secret", secret, secret=secret)
        update = http.parse(call.body)
        reader = READERS.get(http.text_of(update, "update_type"))
        change = reader(update, self._token) if reader else None
        milliseconds = update.get("timestamp")
        at = http.from_timestamp(milliseconds // 1000) if type(milliseconds) is int else None
        return InboundEvents(call.body, bot_updates=[change] if change else [], updated_at=at)

    def _refusal(self, response: http.VendorResponse) -> SendError:
        code = http.text_of(response.data, "code")
        detail = response.data.get("message")
        if not code:
            return response.undocumented_error()
        if response.status == 503:  # "service unavailable"
            return response.error(http.TRANSIENT, code, detail)
        if response.status < 500 and (kind := _ERROR_KINDS.get(code)):
            return response.error(kind, code, detail)
        return response.undocumented_error(code, detail)


def _missing(types: object) -> list[str]:
    """The update types that a subscription lacks; without a list it has all of them."""
    return [name for name in READERS if name not in types] if isinstance(types, list) else []


# MAX omits fields that its schema requires, so only the used ones must be present


def _started(update: http.Json, _token: str) -> BotUpdate | None:
    user_id = _person(update.get("user"))
    return None if user_id is None else Started(user_id, _locale(update))


def _ended(update: http.Json, _token: str) -> BotUpdate | None:
    user_id = _person(update.get("user"))
    return None if user_id is None else BotBlocked(user_id, blocked=True)


def _written(update: http.Json, token: str) -> BotUpdate | None:
    message = http.mapping(update.get("message"))
    user_id = _person(message.get("sender"))
    # Judged only by its type: the id of a dialog may be negative like a group's, or absent.
    chat_type = http.mapping(message.get("recipient")).get("chat_type")
    if user_id is None or chat_type != "dialog":
        return None
    body = http.mapping(message.get("body"))
    if any(item.get("type") == "contact" for item in http.objects(body.get("attachments"))):
        phone = _own_phone(message, body["attachments"], user_id, token)
        return ContactShared(phone, user_id, _locale(update), needs_request=True) if phone else None
    return text_received(http.text_of(body, "text"), user_id, _locale(update))


def _own_phone(message: http.Json, attachments: list[object], user_id: int, token: str) -> str:
    """The number on the sender's own card; empty if the message does not prove it.

    The card must be alone, not forwarded, and signed with our token.
    """
    card = http.mapping(http.first(attachments).get("payload"))
    vcf = card.get("vcf_info")
    owner = http.mapping(card.get("max_info")).get("user_id")
    if len(attachments) != 1 or message.get("link") is not None or owner != user_id:
        return ""
    if not isinstance(vcf, str) or not _is_signed(vcf, card.get("hash"), token):
        return ""
    # Exactly one: people choose their names, and a line break in a name might add a second number.
    numbers = [
        match[1] for line in _FOLD.sub("", vcf).splitlines() if (match := _TEL.fullmatch(line))
    ]
    return phone_of(numbers[0]) if len(numbers) == 1 else ""


def _is_signed(vcf: str, signature: object, token: str) -> bool:
    """Verifies the hash over the text as JSON carries it, including line breaks."""
    expected = http.sha256_hmac(token.encode(), vcf.encode(errors="replace"))
    return isinstance(signature, str) and http.constant_time_equal(signature, expected)


def _person(user: object) -> int | None:
    """The id of a user who is not a bot."""
    fields = http.mapping(user)
    user_id = fields.get("user_id")
    is_id = type(user_id) is int and 0 < user_id < _ID_BOUND
    return user_id if is_id and fields.get("is_bot") is not True else None


def _locale(update: http.Json) -> str:
    return locale_of(update.get("user_locale"))


# The update types that a subscription must list. Contacts read by a mini app come in none of them:
# a browser could have made them up.
READERS: dict[str, Callable[[http.Json, str], BotUpdate | None]] = {
    "message_created": _written,
    "bot_started": _started,
    "bot_stopped": _ended,
    "dialog_removed": _ended,
}
