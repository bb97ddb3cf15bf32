"""A valid send for each vendor, and a parser of the vendor's receipts."""

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import Any

import requests
from twilio.request_validator import RequestValidator

from tests.tools.simulator.peers import ACCOUNT, Hook, Receiver, Simulator, post

TEXTS = count(1)
BEARER = {"Authorization": f"Bearer {ACCOUNT['WHATSAPP_TOKEN']}"}
GATEWAY = {"Authorization": f"Bearer {ACCOUNT['TELEGRAM_GATEWAY_TOKEN']}"}
BASIC = (ACCOUNT["TWILIO_ACCOUNT_SID"], ACCOUNT["TWILIO_AUTH_TOKEN"])


def template(
    name: str, values: list[str], button: str, language: str = "ru", **more: object
) -> dict[str, Any]:
    return {
        "name": name,
        "language": {"code": language},
        "components": [
            {"type": "body", "parameters": [{"type": "text", "text": text} for text in values]},
            {
                "type": "button",
                "sub_type": "url",
                "index": "0",
                "parameters": [{"type": "text", "text": button}],
            },
        ],
        **more,
    }


def whatsapp_body(phone: str, **changed: object) -> dict[str, Any]:
    return {
        "messaging_product": "whatsapp",
        "recipient_type": "individual",
        "to": phone,
        "type": "template",
        "biz_opaque_callback_data": f"ref-{phone}",
        "template": template("verification_code", ["123456"], "123456"),
        **changed,
    }


def whatsapp_url(simulator: Simulator) -> str:
    return f"{simulator.url}/whatsapp/v25.0/{ACCOUNT['WHATSAPP_PHONE_NUMBER_ID']}/messages"


def send_whatsapp(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    body = whatsapp_body(phone, **changed)
    return post(whatsapp_url(simulator), json=body, headers=BEARER, timeout=timeout)


def send_gateway(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    body = {
        "phone_number": f"+{phone}",
        "code": "123456",
        "ttl": 300,
        "callback_url": f"{simulator.public_url}/hooks/telegram-gateway",
        "payload": f"ref-{phone}",
        **changed,
    }
    url = f"{simulator.url}/telegram-gateway/sendVerificationMessage"
    return post(url, json=body, headers=GATEWAY, timeout=timeout)


def bot_url(simulator: Simulator, method: str, token: str = ACCOUNT["TELEGRAM_BOT_TOKEN"]) -> str:
    return f"{simulator.url}/telegram-bot/bot{token}/{method}"


def send_bot(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    body = {"chat_id": int(phone), "text": "Ваш код: 123456", **changed}
    return post(bot_url(simulator, "sendMessage"), json=body, timeout=timeout)


def send_max(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    body = {"text": "Ваш код: 123456", **changed}
    headers = {"Authorization": ACCOUNT["MAX_BOT_TOKEN"]}
    url = f"{simulator.url}/max-bot/messages?user_id={phone}"
    return post(url, json=body, headers=headers, timeout=timeout)


def twilio_url(simulator: Simulator, resource: str = "Messages.json") -> str:
    return f"{simulator.url}/twilio/2010-04-01/Accounts/{BASIC[0]}/{resource}"


def send_twilio(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    form = {
        "To": f"+{phone}",
        "From": ACCOUNT["TWILIO_FROM"],
        "Body": "Ваш код: 123456",
        "StatusCallback": f"{simulator.public_url}/hooks/twilio",
        **changed,
    }
    wanted = {name: value for name, value in form.items() if value is not None}
    return post(twilio_url(simulator), data=wanted, auth=BASIC, timeout=timeout)


def smsc_url(simulator: Simulator, script: str = "send") -> str:
    return f"{simulator.url}/smsc/sys/{script}.php"


def smsc_form(**more: Any) -> dict[str, Any]:
    account = {"login": ACCOUNT["SMSC_LOGIN"], "psw": ACCOUNT["SMSC_PASSWORD"]}
    form = {**account, "fmt": "3", "charset": "utf-8", **more}
    return {name: value for name, value in form.items() if value is not None}


def send_smsc(simulator: Simulator, phone: str, **changed: Any) -> requests.Response:
    timeout = changed.pop("timeout", 5)
    # SMSC refuses what it was sent a moment ago, so no two texts are the same.
    usual = {"phones": f"+{phone}", "mes": f"Ваш код: 123456 ({next(TEXTS)})"}
    form = smsc_form(**usual | changed)
    return post(smsc_url(simulator), data=form, timeout=timeout)


def twilio_agrees(token: str, url: str, form: dict[str, str], signature: str) -> bool:
    """The vendor's own judgement of a signature."""
    validator = RequestValidator(token)  # type: ignore[no-untyped-call]
    return bool(validator.validate(url, form, signature))  # type: ignore[no-untyped-call]


@dataclass(frozen=True)
class SentReceipt:
    """The content of one receipt, in the vendor's words."""

    phone: str
    vendor_status: str
    hook: Hook


def read_whatsapp(hook: Hook) -> SentReceipt:
    """The first status of a batch; what speaks of the account speaks of no phone."""
    statuses = hook.json["entry"][0]["changes"][0]["value"].get("statuses")
    if not statuses:
        return SentReceipt("", "", hook)
    return SentReceipt(statuses[0]["recipient_id"], statuses[0]["status"], hook)


def read_gateway(hook: Hook) -> SentReceipt:
    return SentReceipt(hook.json["phone_number"], hook.json["delivery_status"]["status"], hook)


def read_twilio(hook: Hook) -> SentReceipt:
    return SentReceipt(hook.form["To"].removeprefix("+"), hook.form["MessageStatus"], hook)


def read_smsc(hook: Hook) -> SentReceipt:
    text = {"0": "sent", "1": "delivered", "20": "undelivered"}
    return SentReceipt(hook.form["phone"], text[hook.form["status"]], hook)


@dataclass(frozen=True)
class Vendor:
    name: str
    channel: str
    send: Callable[..., requests.Response]
    path: str = ""
    read: Callable[[Hook], SentReceipt] = read_whatsapp
    undelivered: str = "failed"

    def receipts(
        self, receiver: Receiver, phone: str, total: int, within: float = 25
    ) -> list[SentReceipt]:
        """The receipts that came for a phone, once there are so many."""

        def fits(hook: Hook) -> bool:
            return hook.path == self.path and self.read(hook).phone == phone

        return [self.read(hook) for hook in receiver.wait(fits, total, within)]

    def words(self, receiver: Receiver, phone: str, total: int) -> list[str]:
        return [receipt.vendor_status for receipt in self.receipts(receiver, phone, total)]


WHATSAPP = Vendor("whatsapp_cloud", "whatsapp", send_whatsapp, "/hooks/whatsapp")
GATEWAY_VENDOR = Vendor(
    "telegram_gateway", "telegram", send_gateway, "/hooks/telegram-gateway", read_gateway, "expired"
)
BOT = Vendor("telegram_bot", "telegram", send_bot)
MAX = Vendor("max_bot", "max", send_max)
TWILIO = Vendor("twilio", "sms", send_twilio, "/hooks/twilio", read_twilio, "undelivered")
SMSC = Vendor("smsc", "sms", send_smsc, "/hooks/smsc?md5&charset=utf-8", read_smsc, "undelivered")
ALL = (WHATSAPP, GATEWAY_VENDOR, BOT, MAX, TWILIO, SMSC)
WITH_RECEIPTS = (WHATSAPP, GATEWAY_VENDOR, TWILIO, SMSC)
