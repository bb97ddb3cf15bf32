"""SMSC's send, status and balance, as https://smsc.ru/api/http/ words them."""

import hashlib
import re
import secrets
import time
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode
from zoneinfo import ZoneInfo

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.faults import BARRED
from tools.simulator.messages import Message, digits, is_phone
from tools.simulator.request_bodies import form, whole
from tools.simulator.vendor import HttpVendor, Post, RefusedError, json_response

MAX_ID = 2**31 - 1
VALIDITY = re.compile(r"(?:[01]?[0-9]|2[0-4])(?::[0-5][0-9])?")
REPEAT = 60.0  # seconds in which the same text to the same phone is a repeat
POLLS_A_MINUTE = 5
REMEMBERED = 10_000  # messages whose polls are counted
MAX_TEXT_LENGTH = 1000
HOME = ZoneInfo("Europe/Moscow")
STATUSES = {"sent": 0, "delivered": 1, "read": 2, "failed": 20}


def _refused(code: int, text: str) -> RefusedError:
    """SMSC puts its errors into a 200."""
    return RefusedError({"error": text, "error_code": code})


PARAMETERS = _refused(1, "parameters error")
REPEATED = _refused(9, "duplicate request, wait a minute")
REFUSED = {
    "unreachable": _refused(8, "can't to deliver"),
    "refuse": _refused(6, "message is denied"),
    "account": _refused(3, "no money"),
    "throttle": _refused(9, "too many concurrent requests"),
}


class Smsc(HttpVendor):
    name = "smsc"
    channel = "sms"
    malformed = PARAMETERS

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._login = self.settings.variable("SMSC_LOGIN")
        self._password = self.settings.variable("SMSC_PASSWORD")
        self._polls: dict[str, list[float]] = {}

    def routes(self) -> list[web.RouteDef]:
        return [
            web.route("*", "/smsc/sys/send.php", self.send),
            web.route("*", "/smsc/sys/status.php", self.poll),
            web.route("*", "/smsc/sys/balance.php", self.balance),
            web.route("*", "/smsc/sys/senders.php", self.senders),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        message = self._message(await self._fields(request))
        return await self.carrier.carry(request, self, message)

    async def poll(self, request: web.Request) -> web.Response:
        fields = await self._fields(request)
        request["exchange"].phone = digits(fields.get("phone", ""))
        message = self._find_message(fields)
        at = int(message.at)
        status = {"status": STATUSES[message.state], "last_date": _date(at), "last_timestamp": at}
        return json_response(status)

    async def balance(self, request: web.Request) -> web.Response:
        fields = await self._fields(request)
        balance = {"balance": "0.00" if "money" in self.carrier.missing else "1000.00"}
        return json_response(balance | ({"currency": "RUR"} if fields.get("cur") == "1" else {}))

    async def senders(self, request: web.Request) -> web.Response:
        """The names that the moderator has approved."""
        if (await self._fields(request)).get("get") != "1":
            raise PARAMETERS
        ours = [] if "sender" in self.carrier.missing else [self.settings.variable("SMSC_SENDER")]
        return json_response([{"sender": name} for name in filter(None, ["SMSC.RU", *ours])])

    def accepted(self, message: Message) -> web.Response:
        return json_response({"id": message.extra["id"], "cnt": 1})

    def refusal(self, kind: str, message: Message) -> RefusedError:
        return REFUSED[kind]

    def receipt(self, message: Message, event: str, moment: float) -> Post:
        phone, number, word = message.phone, str(message.extra["id"]), str(STATUSES[event])
        error = "0"
        if event == "failed":
            error = "252" if message.suffers(BARRED) else "6"
        fields = {
            "id": number,
            "phone": phone,
            "status": word,
            "time": _date(int(moment)),
            "ts": str(int(moment)),
            "err": error,
            "type": "0",
            "md5": signed(self.settings.variable("SMSC_CALLBACK_SECRET"), number, phone, word),
        }
        url = f"{self.settings.public_url}/hooks/smsc?md5&charset=utf-8"
        headers = {"Content-Type": "application/x-www-form-urlencoded"}
        return Post(url, urlencode(fields).encode(), headers)

    async def _fields(self, request: web.Request) -> Mapping[str, str]:
        """The parameters, from the query or the body, of somebody who may ask."""
        fields = dict(request.query) | await form(request)
        login, password = self._login, self._password
        pair = (fields.get("login"), fields.get("psw"))
        if not password or (pair != (login, password) and fields.get("apikey") != password):
            raise _refused(2, "authorise error")
        if fields.get("fmt") != "3":
            raise PARAMETERS
        return fields

    def _message(self, fields: Mapping[str, str]) -> Message:
        phone, text = digits(fields.get("phones", "")), fields.get("mes", "")
        number = whole(fields.get("id", secrets.randbelow(MAX_ID) + 1)) or 0
        if not text or len(text) > MAX_TEXT_LENGTH or not 1 <= number <= MAX_ID:
            raise PARAMETERS
        if fields.get("charset") != "utf-8" or not VALIDITY.fullmatch(fields.get("valid", "24")):
            raise PARAMETERS
        if not is_phone(phone) or phone.startswith("0"):
            raise _refused(7, "invalid number")
        since = time.time() - REPEAT
        earlier = (row for row in self.carrier.log.of_phone(phone, 5) if row.provider == self.name)
        if any(row.text == text and row.at > since for row in earlier):
            raise REPEATED
        return self.message(f"{phone}:{number}", phone, text, extra={"id": number})

    def _find_message(self, fields: Mapping[str, str]) -> Message:
        """Finds the latest of several messages under one id: SMSC lets its clients repeat an id."""
        known_as = f"{digits(fields.get('phone', ''))}:{fields.get('id', '')}"
        now = time.time()
        polls = [at for at in self._polls.pop(known_as, []) if at > now - 60]
        self._polls[known_as] = [*polls, now]
        while len(self._polls) > REMEMBERED:
            del self._polls[next(iter(self._polls))]
        if len(polls) >= POLLS_A_MINUTE:
            raise REPEATED
        message = self.carrier.log.by_provider_id(self.name, known_as)
        if message is None:
            raise _refused(3, "message not found")
        return message


def _date(moment: int) -> str:
    return datetime.fromtimestamp(moment, HOME).strftime("%d.%m.%Y %H:%M:%S")


def signed(secret: str, number: str, phone: str, status: str) -> str:
    text = f"{number}:{phone}:{status}:{secret}"
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()
