"""Telegram Gateway, as https://core.telegram.org/gateway/api words it."""

import json
import re
import secrets
import time
from collections import Counter
from typing import Any, ClassVar

from aiohttp import web

from tools.simulator import signatures
from tools.simulator.carrier import Carrier
from tools.simulator.messages.message import Message
from tools.simulator.messages.message_content import digits
from tools.simulator.request_bodies import MalformedError, fields, whole
from tools.simulator.vendor import HttpVendor, Json, Post, is_callback, json_answer

PHONE = re.compile(r"\+[1-9][0-9]{6,14}")  # E.164: without its plus it is refused
CODE = re.compile(r"[0-9]{4,8}")
SENDER = re.compile(r"@?\w{5,32}", re.ASCII)
LONGEST_PAYLOAD = 128
LONGEST_CALLBACK = 256
WRONG_CODES = 5
PRICE, BALANCE, LOW = 0.01, 1000.0, 0.5
REFUSALS = {
    "unreachable": "PHONE_NUMBER_NOT_AVAILABLE",
    "refuse": "CODE_INVALID",
    "account": "BALANCE_NOT_ENOUGH",
    "throttle": "FLOOD_WAIT_1",
}


class RefusedError(Exception):
    """The vendor's error word."""


class TelegramGateway(HttpVendor):
    name = "telegram_gateway"
    channel = "telegram"
    can_read = True
    methods: ClassVar[tuple[str, ...]] = (
        "sendVerificationMessage",
        "checkSendAbility",
        "checkVerificationStatus",
        "revokeVerificationMessage",
    )

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._token = carrier.settings.gateway_token
        self._able: dict[str, str] = {}  # request ids of checkSendAbility not yet used -> phone
        self._wrong: Counter[str] = Counter()

    def routes(self) -> list[web.RouteDef]:
        return [web.route("*", "/telegram-gateway/{method:.*}", self.call)]

    async def call(self, request: web.Request) -> web.StreamResponse:
        method = request.match_info["method"]
        if method not in self.methods or request.method not in {"GET", "POST"}:
            return _refusal("UNKNOWN_METHOD", 404)
        try:
            given = await fields(request)
            self._check_token(request, given)
            return await self._answer(method, request, given)
        except MalformedError:
            return _refusal("BAD_REQUEST", 400)
        except RefusedError as refused:
            return _refusal(str(refused))

    def accepted(self, message: Message) -> web.Response:
        return _result(_status(message) | self._balance())

    def refused(self, kind: str, message: Message) -> web.Response:
        return _refusal(REFUSALS[kind])

    def receipt(self, message: Message, event: str, moment: float) -> Post | None:
        if not message.extra["callback_url"]:
            return None
        body = json.dumps(_status(message, event, moment)).encode()
        timestamp = str(int(time.time()))
        headers = {
            "Content-Type": "application/json",
            "X-Request-Timestamp": timestamp,
            "X-Request-Signature": signatures.telegram_gateway(self._token, timestamp, body),
        }
        return Post(message.extra["callback_url"], body, headers)

    async def _answer(
        self, method: str, request: web.Request, given: dict[str, Any]
    ) -> web.StreamResponse:
        if method == "sendVerificationMessage":
            return await self._carrier.carry(request, self, self._message(given))
        if method == "checkSendAbility":
            return self._ability(given)
        message = self._sent(given)
        if method == "checkVerificationStatus":
            return self._verification(message, given)
        if message.state == "sent":
            message.extra["word"] = "revoked"
            self._carrier.courier.replace(message, "failed")
        return _result(True)

    def _check_token(self, request: web.Request, given: dict[str, Any]) -> None:
        scheme, _, bearer = request.headers.get("Authorization", "").partition(" ")
        token = bearer.strip() if scheme.lower() == "bearer" else given.get("access_token")
        if not token:
            raise RefusedError("ACCESS_TOKEN_REQUIRED")
        if not self._token or token != self._token:
            raise RefusedError("ACCESS_TOKEN_INVALID")

    def _message(self, given: dict[str, Any]) -> Message:
        phone = _phone(given)
        code, payload = _code(given), given.get("payload")
        extra = {"callback_url": _callback(given), "ttl": _ttl(given)}
        if payload is not None and (
            not isinstance(payload, str) or len(payload.encode()) > LONGEST_PAYLOAD
        ):
            raise RefusedError("PAYLOAD_INVALID")
        if (sender := given.get("sender_username")) and not SENDER.fullmatch(str(sender)):
            raise RefusedError("SENDER_USERNAME_INVALID")
        return Message(
            channel=self.channel,
            provider=self.name,
            provider_id=self._request_id(given, phone),
            phone=phone,
            text=f"{code} — ваш код подтверждения.",
            code=code,
            links=[],
            ref=payload or None,
            extra=extra,
        )

    def _request_id(self, given: dict[str, Any], phone: str) -> str:
        number = given.get("request_id")
        if number is None:
            return str(10**14 + secrets.randbelow(9 * 10**14))
        if str(number) not in self._able:
            raise RefusedError("REQUEST_ID_INVALID")
        if self._able[str(number)] != phone:
            raise RefusedError("PHONE_NUMBER_MISMATCH")
        del self._able[str(number)]
        return str(number)

    def _ability(self, given: dict[str, Any]) -> web.Response:
        phone = _phone(given)
        if self._carrier.faults.refuses((self.channel, self.name, phone)):
            raise RefusedError("PHONE_NUMBER_NOT_AVAILABLE")
        number = self._request_id({}, phone)
        self._able[number] = phone
        return _result(_request(number, phone) | self._balance())

    def _balance(self) -> Json:
        """Told in the answer to what was paid for, and nowhere else."""
        return {"remaining_balance": LOW if "money" in self._carrier.lacks else BALANCE}

    def _sent(self, given: dict[str, Any]) -> Message:
        number = given.get("request_id")
        if number is None:
            raise RefusedError("REQUEST_ID_REQUIRED")
        message = self._carrier.log.by_provider_id(self.name, str(number))
        if message is None:
            raise RefusedError("REQUEST_ID_INVALID")
        return message

    def _verification(self, message: Message, given: dict[str, Any]) -> web.Response:
        status = _status(message)
        code = given.get("code")
        if code is not None:
            verdict = self._check(message, str(code))
            status["verification_status"] = {
                "status": verdict,
                "updated_at": int(time.time()),
                "code_entered": str(code),
            }
        return _result(status)

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


def _phone(given: dict[str, Any]) -> str:
    phone = given.get("phone_number")
    if not isinstance(phone, str) or not PHONE.fullmatch(phone):
        raise RefusedError("PHONE_NUMBER_INVALID")
    return digits(phone)


def _code(given: dict[str, Any]) -> str:
    if (code := given.get("code")) is not None:
        if not isinstance(code, str) or not CODE.fullmatch(code):
            raise RefusedError("CODE_INVALID")
        return code
    if given.get("code_length") is None:
        raise RefusedError("CODE_LENGTH_REQUIRED")
    length = whole(given["code_length"])
    if length is None or not 4 <= length <= 8:
        raise RefusedError("CODE_LENGTH_INVALID")
    return str(secrets.randbelow(10**length)).zfill(length)


def _ttl(given: dict[str, Any]) -> int | None:
    if given.get("ttl") is None:
        return None
    ttl = whole(given["ttl"])
    if ttl is None or not 30 <= ttl <= 3600:
        raise RefusedError("TTL_INVALID")
    return ttl


def _callback(given: dict[str, Any]) -> str:
    url = given.get("callback_url") or ""
    if not isinstance(url, str) or len(url.encode()) > LONGEST_CALLBACK:
        raise RefusedError("CALLBACK_URL_INVALID")
    # The real one wants https; on loopback there is nobody to listen in.
    if url and not is_callback(url, plain_http=False):
        raise RefusedError("CALLBACK_URL_INVALID")
    return url


def _request(number: str, phone: str) -> Json:
    return {
        "request_id": number,
        "phone_number": phone,
        "request_cost": PRICE,
        "is_refunded": False,
    }


def _status(message: Message, event: str | None = None, moment: float | None = None) -> Json:
    state = event or message.state
    # What failed was either revoked or, having a ttl, ran out and was refunded.
    word = message.extra.get("word", "expired") if state == "failed" else state
    status = _request(message.provider_id, message.phone)
    status["is_refunded"] = word == "expired" and bool(message.extra["ttl"])
    updated_at = int(message.at if moment is None else moment)
    status["delivery_status"] = {"status": word, "updated_at": updated_at}
    if message.ref is not None:
        status["payload"] = message.ref
    return status


def _result(result: object) -> web.Response:
    return json_answer({"ok": True, "result": result})


def _refusal(error: str, status: int = 200) -> web.Response:
    return json_answer({"ok": False, "error": error}, status)
