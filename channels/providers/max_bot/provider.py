"""MAX bot: codes, links and text to people who shared their contact with our bot.

https://dev.max.ru/docs-api; https://github.com/max-messenger/api-schema, version 0.0.33
"""

from collections.abc import Iterator

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
from channels.providers.bot import START_PARAMETER, Bot, BotText, DeliveredOn, texts
from channels.providers.inbound import InboundEvents, WebhookRequest
from channels.providers.max_bot import updates

# The person has stopped the bot or removed the chat (403), or has never opened it (404). The
# schema names the first code; clients report the others (2026).
_GONE = frozenset({"chat.denied", "chat.not.found", "dialog.not.found"})
_VERDICTS = dict.fromkeys(_GONE, http.UNREACHABLE) | {"verify.token": http.ACCOUNT_REFUSED}


class MaxBot(Bot):
    name = "max_bot"
    channel = "max"
    gone_codes = _GONE

    def __init__(
        self,
        *,
        api_url: str,
        token: str,
        secret_token: str,
        username: str = "",
        delivered_on: str = DeliveredOn.ACCEPT,
        ca_file: str = "",
        timeout: http.Timeout = (2.0, 8.0),
    ) -> None:
        super().__init__(
            api_url=api_url,
            token=token,
            secret_token=secret_token,
            username=username,
            delivered_on=delivered_on,
            timeout=timeout,
            authorization=token,  # no scheme before it
            ca_file=ca_file,
        )

    @property
    def contact_url(self) -> str:
        return f"https://max.ru/{self._username}?start={START_PARAMETER}" if self._username else ""

    def send(self, message: Outgoing) -> Accepted:
        user_id, labels = self._chat_of(message), texts(message.locale)
        buttons: list[http.Json] = []
        if message.code:
            buttons.append({"type": "clipboard", "text": labels["copy"], "payload": message.code})
        if message.short_url:
            buttons.append({"type": "link", "text": labels["open"], "url": message.short_url})
        return self._deliver(user_id, message.text, buttons)

    def answer(self, chat_id: int, locale: str, word: BotText) -> None:
        bot_texts = texts(locale)
        button = {"type": "request_contact", "text": bot_texts["share_number"]}
        self._deliver(chat_id, bot_texts[word], [button] if word is BotText.SHARE else [])

    def _deliver(self, user_id: int, text: str, buttons: list[http.Json]) -> Accepted:
        """To the dialog with this person: MAX refuses the dialog's own id, which updates name."""
        body: http.Json = {"text": text}
        if buttons:
            keyboard = {"buttons": [[button] for button in buttons]}
            body["attachments"] = [{"type": "inline_keyboard", "payload": keyboard}]
        # The schema's words on the preview are reversed; its clients do as the name says.
        path = f"/messages?user_id={user_id}&disable_link_preview=true"
        answer = self._post(path, orjson.dumps(body))
        sent = answer.data.get("message")
        if answer.status >= 300 or not isinstance(sent, dict):
            raise self._refusal(answer)
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

    def renew(self, wanted: AccountRequirements) -> None:
        """MAX drops a subscription whose address has failed for eight hours, and tells nobody."""
        subscriptions, url = self._subscriptions(), wanted.hook_url
        is_whole = url in subscriptions and not _missing(subscriptions[url])
        if is_whole or not self._secret_token:
            return
        body = {"url": url, "secret": self._secret_token, "update_types": list(updates.READERS)}
        answer = self._query("/subscriptions", orjson.dumps(body))
        if answer.data.get("success") is not True:
            raise self._refusal(answer)

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        secret = self._secret_token
        http.require_signature(call, "X-Max-Bot-Api-Secret", secret, secret=secret)
        update = updates.read(http.parse(call.body), self._token)
        return InboundEvents(call.body, bot_updates=[update] if update else [])

    def _refusal(self, answer: http.VendorResponse) -> SendError:
        code, detail = http.text_of(answer.data, "code"), answer.data.get("message")
        if not code:
            return answer.undocumented_error()
        if answer.status == 503:  # "service unavailable"
            return answer.error(http.TRANSIENT, code, detail)
        if answer.status < 500 and (verdict := _VERDICTS.get(code)):
            return answer.error(verdict, code, detail)
        return answer.undocumented_error(code, detail)


def _missing(types: object) -> list[str]:
    """The update types that a subscription lacks; one that names none has them all."""
    return (
        [name for name in updates.READERS if name not in types] if isinstance(types, list) else []
    )
