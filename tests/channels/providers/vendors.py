"""An account with each HTTP vendor, and that vendor's webhook signature."""

import base64
import hashlib
import hmac
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, parse_qsl, urlencode

import requests
from django.conf import settings
from django.test import Client

from channels.providers.base import Content, Outgoing
from channels.providers.http import HttpProvider
from channels.providers.inbound import InboundEvents, WebhookRequest
from channels.providers.max_bot.provider import MaxBot
from channels.providers.smsc.provider import Smsc
from channels.providers.telegram_bot.provider import TelegramBot
from channels.providers.telegram_gateway.provider import TelegramGateway
from channels.providers.twilio.provider import Twilio
from channels.providers.whatsapp.provider import WhatsAppCloud

CODE = "482915"
PHONE = "+998901234567"
META_TOKEN = "EAAwhatsapp-secret-token"
META_SECRET = "whatsapp-app-secret"
GATEWAY_TOKEN = "AAEgateway-secret-token"
TWILIO_TOKEN = "twilio-secret-token"
SMSC_PASSWORD = "smsc-secret-password"
SMSC_SECRET = "smsc-callback-secret"
BOT_SECRET = "bot-webhook-secret"
BOT_TOKEN = "110201543:AAbot-secret-token"
MAX_SECRET = "max-webhook-secret"
MAX_TOKEN = "f9LHmax-secret-token"
PAYLOADS = Path(__file__).parent / "payloads"


def message(**changes: Any) -> Outgoing:
    usual: dict[str, Any] = {
        "ref": "att-1",
        "message_id": "msg-1",
        "phone": PHONE,
        "content": Content.CODE,
        "locale": "ru",
        "text": f"Ваш код: {CODE}",
        "ttl": 300,
        "code": CODE,
        "brand": "Demo",
        "chat_id": 7770000001,
    }
    return Outgoing(**usual | changes)


def code_with_link(**changes: Any) -> Outgoing:
    usual = {
        "content": Content.CODE_WITH_LINK,
        "text": f"Ваш код: {CODE} https://l.example.com/bcdfghjkmn",
        "short_url": "https://l.example.com/bcdfghjkmn",
    }
    return message(**usual | changes)


def link(**changes: Any) -> Outgoing:
    usual = {
        "content": Content.LINK,
        "text": "Ваш документ: https://l.example.com/bcdfghjk",
        "short_url": "https://l.example.com/bcdfghjk",
        "code": None,
    }
    return message(**usual | changes)


def payload(provider: str, name: str) -> bytes:
    return (PAYLOADS / provider / name).read_bytes()


def body_of(request: requests.PreparedRequest) -> bytes:
    """A request's body is read as the wire would read it: by iterating over it."""
    assert request.body is not None
    return b"".join(request.body)  # type: ignore[arg-type]


def whatsapp(**changes: Any) -> WhatsAppCloud:
    usual: dict[str, Any] = {
        "api_url": "https://graph.example.com",
        "version": "v25.0",
        "token": META_TOKEN,
        "phone_number_id": "106540352242922",
        "app_secret": META_SECRET,
        "verify_token": "whatsapp-verify-token",
        "code_template": "verification_code",
        "link_template": "short_link",
        "code_link_template": "code_with_link",
        "languages": {"ru": "ru", "en": "en_US"},
    }
    return WhatsAppCloud(**usual | changes)


def gateway(**changes: Any) -> TelegramGateway:
    usual: dict[str, Any] = {
        "api_url": "https://gateway.example.com",
        "token": GATEWAY_TOKEN,
        "callback_url": "https://kvitok.example.com/hooks/telegram-gateway",
    }
    return TelegramGateway(**usual | changes)


def bot(**changes: Any) -> TelegramBot:
    usual: dict[str, Any] = {
        "api_url": "https://bot.example.com",
        "token": BOT_TOKEN,
        "secret_token": BOT_SECRET,
    }
    return TelegramBot(**usual | changes)


def max_bot(**changes: Any) -> MaxBot:
    usual: dict[str, Any] = {
        "api_url": "https://max.example.com",
        "token": MAX_TOKEN,
        "secret_token": MAX_SECRET,
    }
    return MaxBot(**usual | changes)


def twilio(**changes: Any) -> Twilio:
    usual: dict[str, Any] = {
        "api_url": "https://twilio.example.com",
        "account_sid": "AC00000000000000000000000000000001",
        "auth_token": TWILIO_TOKEN,
        "sender": "+15005550006",
        "callback_url": "https://kvitok.example.com/hooks/twilio",
    }
    return Twilio(**usual | changes)


def smsc(**changes: Any) -> Smsc:
    usual: dict[str, Any] = {
        "api_url": "https://smsc.example.com",
        "login": "demo",
        "password": SMSC_PASSWORD,
        "sender": "KVITOK",
        "callback_secret": SMSC_SECRET,
    }
    return Smsc(**usual | changes)


def meta_call(body: bytes, secret: str = META_SECRET) -> WebhookRequest:
    digest = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    headers = {"X-Hub-Signature-256": f"sha256={digest}"}
    return WebhookRequest("https://kvitok.example.com/hooks/whatsapp", headers, body)


def gateway_call(
    body: bytes, token: str = GATEWAY_TOKEN, at: float | None = None
) -> WebhookRequest:
    stamp = str(int(time.time() if at is None else at))
    key = hashlib.sha256(token.encode()).digest()
    digest = hmac.new(key, f"{stamp}\n".encode() + body, hashlib.sha256).hexdigest()
    headers = {"X-Request-Timestamp": stamp, "X-Request-Signature": digest}
    return WebhookRequest("https://kvitok.example.com/hooks/telegram-gateway", headers, body)


def bot_call(body: bytes, secret: str = BOT_SECRET) -> WebhookRequest:
    headers = {"X-Telegram-Bot-Api-Secret-Token": secret}
    return WebhookRequest("https://kvitok.example.com/hooks/telegram-bot", headers, body)


def max_call(body: bytes, secret: str = MAX_SECRET) -> WebhookRequest:
    headers = {"X-Max-Bot-Api-Secret": secret}
    return WebhookRequest("https://kvitok.example.com/hooks/max-bot", headers, body)


def twilio_call(
    body: bytes,
    token: str = TWILIO_TOKEN,
    url: str = "https://kvitok.example.com/hooks/twilio?ref=att-1",
) -> WebhookRequest:
    fields = sorted(parse_qsl(body.decode(errors="replace"), keep_blank_values=True))
    signed = url + "".join(name + value for name, value in fields)
    digest = hmac.new(token.encode(), signed.encode(), hashlib.sha1).digest()
    return WebhookRequest(url, {"X-Twilio-Signature": base64.b64encode(digest).decode()}, body)


def smsc_call(body: bytes, secret: str = SMSC_SECRET) -> WebhookRequest:
    """Returns a call with this form, its md5 computed again."""
    pairs = parse_qsl(body.decode("latin-1"), keep_blank_values=True, encoding="latin-1")
    form = dict(pairs)
    signed = ":".join([*(form.get(name, "") for name in ("id", "phone", "status")), secret])
    md5 = hashlib.md5(signed.encode(), usedforsecurity=False).hexdigest()
    webhook_body = urlencode([(name, md5 if name == "md5" else value) for name, value in pairs])
    return WebhookRequest(
        "https://kvitok.example.com/hooks/smsc?md5&charset=utf-8", {}, webhook_body.encode()
    )


def all_events(events: InboundEvents) -> list[Any]:
    """Returns all parts of the events but their raw bytes."""
    messages = [*events.receipts, *events.recipients, *events.replies]
    return [*messages, *events.bot_updates, *events.alerts]


def call_webhook(vendor: str, body: bytes, secret: str = "", path: str = "") -> int:
    """The status of a call that is signed with the account's secret, or with another one."""
    signer = VENDORS[vendor]
    secret = secret or settings.PROVIDER_ACCOUNTS[vendor][signer.secret_setting]
    url = {"url": f"{settings.PUBLIC_URL}/hooks/twilio"} if vendor == "twilio" else {}
    call = signer.call(body, secret, **url)
    is_form = vendor in {"twilio", "smsc"}
    kind = "application/x-www-form-urlencoded" if is_form else "application/json"
    path = path or f"/hooks{call.url.partition('/hooks')[2]}"
    client = Client(raise_request_exception=False)
    return client.post(path, call.body, kind, headers=dict(call.headers)).status_code


def _wrong(signature: str) -> tuple[str, ...]:
    return "", signature[:-1], signature + "0", f"{signature[:-1]}ы", "\udcff"


def _other_headers(call: WebhookRequest) -> Iterator[WebhookRequest]:
    for name, value in call.headers.items():
        for wrong in _wrong(value):
            yield replace(call, headers={**call.headers, name: wrong})


def _other_md5(call: WebhookRequest) -> Iterator[WebhookRequest]:
    (md5,) = parse_qs(call.body.decode())["md5"]
    for wrong in _wrong(md5):
        yield replace(call, body=call.body.replace(md5.encode(), wrong.encode(errors="replace")))


def _without_headers(call: WebhookRequest) -> WebhookRequest:
    return replace(call, headers={})


def _without_md5(call: WebhookRequest) -> WebhookRequest:
    return replace(call, body=call.body.partition(b"&md5=")[0])


@dataclass(frozen=True)
class Vendor:
    account: Callable[..., HttpProvider]
    secrets: tuple[str, ...]  # what may appear in no error and no log
    send_url: str
    accepted: bytes
    refused: Callable[[str], bytes]  # the vendor's own error body around some words
    unknown: bytes  # an error of the vendor's that is in no list
    call: Callable[..., WebhookRequest]
    secret_setting: str
    webhook_body: bytes  # a genuine body; empty for a vendor that signs nothing
    token_setting: str = "token"
    forged: Callable[[WebhookRequest], Iterator[WebhookRequest]] = _other_headers
    unsigned: Callable[[WebhookRequest], WebhookRequest] = _without_headers
    vouches_for: str = "body"  # or only for the "fields" that are read, or for the "caller"


_TWILIO_BASIC = base64.b64encode(b"AC00000000000000000000000000000001:twilio-secret-token").decode()

VENDORS = {
    "whatsapp_cloud": Vendor(
        account=whatsapp,
        secrets=(META_TOKEN, META_SECRET, "whatsapp-verify-token"),
        send_url="https://graph.example.com/v25.0/106540352242922/messages",
        accepted=payload("whatsapp_cloud", "accepted_2026-09.json"),
        refused=lambda text: f'{{"error":{{"code":100,"message":"{text}"}}}}'.encode(),
        unknown=b'{"error":{"code":999999,"message":"Words"}}',
        call=meta_call,
        secret_setting="app_secret",
        webhook_body=payload("whatsapp_cloud", "status_delivered_2026-09.json"),
    ),
    "telegram_gateway": Vendor(
        account=gateway,
        secrets=(GATEWAY_TOKEN,),
        send_url="https://gateway.example.com/sendVerificationMessage",
        accepted=payload("telegram_gateway", "accepted_2026-09.json"),
        refused=lambda text: f'{{"ok":false,"error":"{text}"}}'.encode(),
        unknown=b'{"ok":false,"error":"SOMETHING_NEW"}',
        call=gateway_call,
        secret_setting="token",
        webhook_body=payload("telegram_gateway", "report_delivered_2026-09.json"),
    ),
    "telegram_bot": Vendor(
        account=bot,
        secrets=(BOT_TOKEN, BOT_SECRET),
        send_url=f"https://bot.example.com/bot{BOT_TOKEN}/sendMessage",
        accepted=payload("telegram_bot", "accepted_2026-09.json"),
        refused=lambda text: f'{{"ok":false,"error_code":400,"description":"{text}"}}'.encode(),
        unknown=b'{"ok":false,"error":"SOMETHING_NEW"}',
        call=bot_call,
        secret_setting="secret_token",
        webhook_body=payload("telegram_bot", "contact_own_2026-09.json"),
        vouches_for="caller",
    ),
    "max_bot": Vendor(
        account=max_bot,
        secrets=(MAX_TOKEN, MAX_SECRET),
        send_url="https://max.example.com/messages",
        accepted=payload("max_bot", "accepted_2026-11.json"),
        refused=lambda text: f'{{"code":"proto.payload","message":"{text}"}}'.encode(),
        unknown=b'{"error":"something.new"}',
        call=max_call,
        secret_setting="secret_token",
        webhook_body=payload("max_bot", "contact_own_2026-11.json"),
        vouches_for="caller",
    ),
    "twilio": Vendor(
        account=twilio,
        secrets=(TWILIO_TOKEN, _TWILIO_BASIC),
        send_url=(
            "https://twilio.example.com/2010-04-01/Accounts/"
            "AC00000000000000000000000000000001/Messages.json"
        ),
        accepted=payload("twilio", "accepted_2026-09.json"),
        refused=lambda text: f'{{"code":21617,"message":"{text}","status":400}}'.encode(),
        unknown=b'{"code":99999,"message":"Words"}',
        call=twilio_call,
        secret_setting="auth_token",
        webhook_body=payload("twilio", "status_delivered_2026-09.form"),
        token_setting="auth_token",
    ),
    "smsc": Vendor(
        account=smsc,
        secrets=(SMSC_PASSWORD, SMSC_SECRET),
        send_url="https://smsc.example.com/sys/send.php",
        accepted=payload("smsc", "accepted_2026-09.json"),
        refused=lambda text: f'{{"error":"{text}","error_code":6}}'.encode(),
        unknown=b'{"error":"words","error_code":99}',
        call=smsc_call,
        secret_setting="callback_secret",
        webhook_body=payload("smsc", "report_delivered_2026-09.form"),
        token_setting="password",
        forged=_other_md5,
        unsigned=_without_md5,
        vouches_for="fields",
    ),
}
