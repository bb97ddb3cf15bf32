"""Telegram Gateway, as https://core.telegram.org/gateway/api words it."""

import hashlib
import hmac
import json
import re
import secrets
import time
from collections import Counter
from typing import Any

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.messages import Message, digits
from tools.simulator.request_bodies import fields, whole
from tools.simulator.vendor import HttpVendor, Json, Post, RefusedError, is_callback, json_response

SEND = "sendVerificationMessage"
METHODS = {SEND, "checkVerificationStatus"}
PHONE = re.compile(r"\+[1-9][0-9]{6,14}")  # E.164: without its plus it is refused
CODE = re.compile(r"[0-9]{4,8}")
MAX_PAYLOAD = 128
MAX_CALLBACK = 256
WRONG_CODES = 5
PRICE = 0.01
BALANCE = 1000.0
LOW = 0.5
REFUSALS = {
    "unreachable": "PHONE_NUMBER_NOT_AVAILABLE",
    "refuse": "CODE_INVALID",
    "account": "BALANCE_NOT_ENOUGH",
    "throttle": "FLOOD_WAIT_1",
}


def _refused(error: str, status: int = 200) -> RefusedError:
    return RefusedError({"ok": False, "error": error}, status)


class TelegramGateway(HttpVendor):
    name = "telegram_gateway"
    channel = "telegram"
    can_read = True
    malformed = _refused("BAD_REQUEST", 400)

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._token = carrier.settings.variable("TELEGRAM_GATEWAY_TOKEN")
        self._wrong: Counter[str] = Counter()

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", "/telegram-gateway/{method:.*}", self.call)]

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if method not in METHODS or request.method not in {"GET", "POST"}:
            raise _refused("UNKNOWN_METHOD", 404)
        body = await fields(request)
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        token = bearer.strip() if scheme.lower() == "bearer" else ""
        if not token:
            raise _refused("ACCESS_TOKEN_REQUIRED")
        if not self._token or token != self._token:
            raise _refused("ACCESS_TOKEN_INVALID")
        if method == SEND:
            return await self.carrier.carry(request, self, self._message(body))
        return json_response({"ok": True, "result": self._verification(body)})

    def accepted(self, message: Message) -> web.Response:
        balance = LOW if "money" in self.carrier.missing else BALANCE
        result = _status(message) | {"remaining_balance": balance}  # only for a paid request
        return json_response({"ok": True, "result": result})

    def refusal(self, kind: str, message: Message) -> RefusedError:
        return _refused(REFUSALS[kind])

    def receipt(self, message: Message, event: str, moment: float) -> Post | None:
        if not message.extra["callback_url"]:
            return None
        body = json.dumps(_status(message, event, moment)).encode()
        timestamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Request-Timestamp": timestamp,
            "X-Request-Signature": signed(self._token, timestamp, body),
        }
        return Post(message.extra["callback_url"], body, headers)

    def _message(self, fields: dict[str, Any]) -> Message:
        phone = _phone(fields)
        code, payload = _code(fields), fields.get("payload")
        callback, ttl = fields.get("callback_url") or "", _ttl(fields)
        # The real one wants https; on loopback there is nobody to listen in.
        if not isinstance(callback, str) or len(callback.encode()) > MAX_CALLBACK:
            raise _refused("CALLBACK_URL_INVALID")
        if callback and not is_callback(callback, plain_http=False):
            raise _refused("CALLBACK_URL_INVALID")
        is_text = payload is None or isinstance(payload, str)
        if not is_text or len((payload or "").encode()) > MAX_PAYLOAD:
            raise _refused("PAYLOAD_INVALID")
        text, extra = f"{code} — ваш код подтверждения.", {"callback_url": callback, "ttl": ttl}
        known_as = str(10**14 + secrets.randbelow(9 * 10**14))
        return self.message(known_as, phone, text, code=code, ref=payload or None, extra=extra)

    def _sent(self, fields: dict[str, Any]) -> Message:
        number = fields.get("request_id")
        if number is None:
            raise _refused("REQUEST_ID_REQUIRED")
        message = self.carrier.log.by_provider_id(self.name, str(number))
        if message is None:
            raise _refused("REQUEST_ID_INVALID")
        return message

    def _verification(self, fields: dict[str, Any]) -> Json:
        message = self._sent(fields)
        status, code = _status(message), fields.get("code")
        if code is not None:
            word, now = self._check(message, str(code)), int(time.time())
            message.extra["reported"] = word
            self.carrier.log.save(message)
            verification_status = {"status": word, "updated_at": now, "code_entered": str(code)}
            status["verification_status"] = verification_status
        return status

    def _check(self, message: Message, code: str) -> str:
        ttl = message.extra["ttl"]
        if ttl and time.time() > message.at + ttl:
            return "expired"
        if self._wrong[message.provider_id] >= WRONG_CODES:
            return "code_max_attempts_exceeded"
        if code == message.code:
            return "code_valid"
        self._wrong[message.provider_id] += 1
        return "code_invalid"


def _phone(fields: dict[str, Any]) -> str:
    phone = fields.get("phone_number")
    if not isinstance(phone, str) or not PHONE.fullmatch(phone):
        raise _refused("PHONE_NUMBER_INVALID")
    return digits(phone)


def _code(fields: dict[str, Any]) -> str:
    code = fields.get("code")
    if code is None:  # and the length of one that Telegram would make is not asked for either
        raise _refused("CODE_LENGTH_REQUIRED")
    if not isinstance(code, str) or not CODE.fullmatch(code):
        raise _refused("CODE_INVALID")
    return code


def _ttl(fields: dict[str, Any]) -> int | None:
    if fields.get("ttl") is None:
        return None
    ttl = whole(fields["ttl"])
    if ttl is None or not 30 <= ttl <= 3600:
        raise _refused("TTL_INVALID")
    return ttl


def _status(message: Message, event: str | None = None, moment: float | None = None) -> Json:
    state = event or message.state
    word = "expired" if state == "failed" else state  # having a ttl, it ran out and was refunded
    status: Json = {
        "request_id": message.provider_id,
        "phone_number": message.phone,
        "request_cost": PRICE,
        "is_refunded": word == "expired" and bool(message.extra["ttl"]),
        "delivery_status": {
            "status": word,
            "updated_at": int(message.at if moment is None else moment),
        },
    }
    if message.ref is not None:
        status["payload"] = message.ref
    return status


def signed(token: str, timestamp: str, body: bytes) -> str:
    key = hashlib.sha256(token.encode()).digest()
    return hmac.new(key, timestamp.encode() + b"\n" + body, hashlib.sha256).hexdigest()
