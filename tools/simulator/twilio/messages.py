"""Twilio's Messages resource, as https://www.twilio.com/docs/messaging/api words it."""

import base64
import binascii
import re
import secrets
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from urllib.parse import urlencode

from aiohttp import web

from tools.simulator import signatures
from tools.simulator.carrier import Carrier
from tools.simulator.messages import message_content
from tools.simulator.messages.message import Message
from tools.simulator.messages.message_content import count_segments
from tools.simulator.request_bodies import MalformedError, form, whole
from tools.simulator.twilio import account as twilio_account
from tools.simulator.vendor import HttpVendor, Json, Post, is_callback, json_answer

API = "2010-04-01"
PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")
SENDER_LISTS = "PhoneNumbers|ShortCodes|AlphaSenders"  # of a messaging service
LONGEST_BODY = 1600
LONGEST_VALIDITY = 36_000
PAGE, LARGEST_PAGE = 50, 1000
SEARCHED = 20_000  # newest messages that a list looks through when no To is given
UNREACHABLE_HANDSET = 30003
WORDS = {"sent": "sent", "delivered": "delivered", "failed": "undelivered", "read": "read"}


class RefusedError(Exception):
    def __init__(self, code: int, message: str, status: int = 400) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.status = status


class Twilio(HttpVendor):
    name = "twilio"
    channel = "sms"
    can_reply = True

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._settings = carrier.settings

    def routes(self) -> list[web.RouteDef]:
        account = f"/twilio/{API}/Accounts/{{account}}"
        return [
            web.get(f"/twilio/{API}/Accounts/{{account:[^/.]+}}.json", self.account),
            web.get(f"{account}/Balance.json", self.balance),
            web.get(f"{account}/IncomingPhoneNumbers.json", self.numbers),
            web.get("/twilio/v1/Messaging/GeoPermissions", self.permissions),
            web.get(f"/twilio/v1/Services/{{sid}}/{{kind:{SENDER_LISTS}}}", self.senders),
            web.get("/twilio/v1/Services/{sid}/Compliance/Usa2p", self.campaigns),
            web.post(f"{account}/Messages.json", self.send),
            web.get(f"{account}/Messages.json", self.find),
            web.get(f"{account}/Messages/{{sid}}.json", self.poll),
            web.route("*", "/twilio/{tail:.*}", self.unknown),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        try:
            self._check_account(request)
            message = self._message(await form(request))
        except MalformedError:
            return _refusal(RefusedError(21604, "A 'To' phone number is required."))
        except RefusedError as refused:
            return _refusal(refused)
        return await self._carrier.carry(request, self, message)

    async def poll(self, request: web.Request) -> web.Response:
        try:
            self._check_account(request)
        except RefusedError as refused:
            return _refusal(refused)
        message = self._carrier.log.by_provider_id(self.name, request.match_info["sid"])
        if message is None:
            return await self.unknown(request)
        request["exchange"].phone = message.phone
        return json_answer(self._resource(message, WORDS[message.state]))

    async def find(self, request: web.Request) -> web.Response:
        try:
            self._check_account(request)
            found = self._search(request.query)
        except RefusedError as refused:
            return _refusal(refused)
        shown = [self._resource(message, WORDS[message.state]) for message in found]
        page = {"page": 0, "page_size": len(shown), "uri": request.path_qs, "next_page_uri": None}
        return json_answer({"messages": shown, **page})

    async def account(self, request: web.Request) -> web.Response:
        lacks = self._carrier.lacks
        return self._read_account(request, lambda sid: twilio_account.account(sid, lacks))

    async def balance(self, request: web.Request) -> web.Response:
        lacks = self._carrier.lacks
        return self._read_account(request, lambda sid: twilio_account.balance(sid, lacks))

    async def numbers(self, request: web.Request) -> web.Response:
        wanted, lacks = request.query.get("PhoneNumber", ""), self._carrier.lacks
        return self._read_account(
            request, lambda _sid: twilio_account.numbers(self._settings, lacks, wanted)
        )

    async def campaigns(self, request: web.Request) -> web.Response:
        service, lacks = request.match_info["sid"], self._carrier.lacks
        return self._read_account(request, lambda _sid: twilio_account.campaigns(service, lacks))

    async def senders(self, request: web.Request) -> web.Response:
        kind, service, lacks = (
            request.match_info["kind"],
            request.match_info["sid"],
            self._carrier.lacks,
        )
        return self._read_account(
            request, lambda _sid: twilio_account.senders(kind, service, lacks)
        )

    async def permissions(self, request: web.Request) -> web.Response:
        wanted, lacks = request.query.get("CountryCode", ""), self._carrier.lacks
        return self._read_account(request, lambda _sid: twilio_account.permissions(wanted, lacks))

    def _read_account(self, request: web.Request, tell: Callable[[str], Json]) -> web.Response:
        """A read of the account, for who may read it."""
        try:
            self._check_account(request)
        except RefusedError as refused:
            return _refusal(refused)
        return json_answer(tell(self._settings.twilio_account_sid))

    async def unknown(self, request: web.Request) -> web.Response:
        path = request.path.removeprefix("/twilio")
        text = f"The requested resource {path} was not found"
        return _refusal(RefusedError(20404, text, status=404))

    def accepted(self, message: Message) -> web.Response:
        word = "accepted" if message.extra["service"] else "queued"
        return json_answer(self._resource(message, word), 201)

    def refused(self, kind: str, message: Message) -> web.Response:
        to, sender = message.extra["to"], message.extra["from"]
        return _refusal(
            {
                "unreachable": RefusedError(21614, f"'To' number: {to}, is not a mobile number"),
                "refuse": RefusedError(21617, "The concatenated message body exceeds the limit"),
                "account": _not_ours(sender),
                "throttle": RefusedError(20429, "Too Many Requests", status=429),
            }[kind]
        )

    def receipt(self, message: Message, event: str, moment: float) -> Post | None:
        url = message.extra["callback"]
        if not url:
            return None
        return self._call(url, self._callback_form(message, event, moment))

    def reply(self, message: Message, text: str) -> Post | None:
        """To the address of the receipts, which an operator gives for incoming messages too."""
        url = message.extra["callback"].partition("?")[0]
        sid = "SM" + secrets.token_hex(16)
        fields = {
            "ApiVersion": API,
            "AccountSid": self._settings.twilio_account_sid,
            "MessageSid": sid,
            "SmsSid": sid,
            "SmsStatus": "received",
            "From": f"+{message.phone}",
            "To": self._settings.twilio_from,
            "Body": text,
            "NumMedia": "0",
            "NumSegments": str(count_segments(text)),
        }
        return self._call(url, fields) if url else None

    def _call(self, url: str, form: dict[str, str]) -> Post:
        headers = {
            "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
            "I-Twilio-Idempotency-Token": secrets.token_hex(16),
            "X-Twilio-Signature": signatures.twilio(self._settings.twilio_auth_token, url, form),
        }
        return Post(url, urlencode(form).encode(), headers)

    def _check_account(self, request: web.Request) -> None:
        settings = self._settings
        account = request.match_info.get("account", settings.twilio_account_sid)
        wrong = RefusedError(20003, "Authenticate", status=401)
        scheme, _, given = request.headers.get("Authorization", "").partition(" ")
        try:
            pair = base64.b64decode(given, validate=True).decode()
        except (binascii.Error, UnicodeDecodeError):
            raise wrong from None
        known = f"{settings.twilio_account_sid}:{settings.twilio_auth_token}"
        if scheme.lower() != "basic" or len(known) == 1 or pair != known:
            raise wrong
        if account != settings.twilio_account_sid:
            raise wrong

    def _message(self, given: dict[str, str]) -> Message:
        to, text = given.get("To", ""), given.get("Body", "")
        if not to:
            raise RefusedError(21604, "A 'To' phone number is required.")
        if not PHONE.fullmatch(to):
            raise RefusedError(21211, f"Invalid 'To' Phone Number: {to}")
        extra = self._sender(given, to) | {"to": to, "callback": _callback(given)}
        _check_body(text)
        _check_validity(given.get("ValidityPeriod"))
        read = message_content.read(text)
        return Message(
            channel=self.channel,
            provider=self.name,
            provider_id="SM" + secrets.token_hex(16),
            phone=message_content.digits(to),
            text=text,
            code=read.code,
            links=read.links,
            extra=extra,
        )

    def _sender(self, given: dict[str, str], to: str) -> Json:
        sender, service = given.get("From", ""), given.get("MessagingServiceSid", "")
        if service:
            if not SERVICE.fullmatch(service):
                raise RefusedError(21705, "The messaging service sid is invalid")
            return {"from": sender, "service": service}
        if not sender:
            raise RefusedError(21603, "A 'From' phone number is required.")
        if sender == to:
            raise RefusedError(21266, "'To' and 'From' number cannot be the same")
        if sender != self._settings.twilio_from:
            raise _not_ours(sender)
        return {"from": sender, "service": ""}

    def _search(self, query: Mapping[str, str]) -> list[Message]:
        """Newest first, by To, From and the days or moments of DateSent."""
        log, to = self._carrier.log, query.get("To", "")
        size = query.get("PageSize", str(PAGE))
        if not 1 <= (whole(size) or 0) <= LARGEST_PAGE:
            raise RefusedError(20001, "Page size must be between 1 and 1000")
        mine = log.of_phone(message_content.digits(to)) if to else log.latest(self.name, SEARCHED)
        since, until = _window(query)
        fits = [
            message
            for message in mine
            if message.provider == self.name
            and since <= message.at < until
            and query.get("From", message.extra["from"]) == message.extra["from"]
        ]
        return fits[: int(size)]

    def _resource(self, message: Message, word: str) -> Json:
        account, sid = self._settings.twilio_account_sid, message.provider_id
        at = format_datetime(datetime.fromtimestamp(message.at, UTC))
        uri = f"/{API}/Accounts/{account}/Messages/{sid}"
        return {
            "account_sid": account,
            "api_version": API,
            "body": message.text,
            "date_created": at,
            "date_sent": at if word in WORDS.values() else None,
            "date_updated": at,
            "direction": "outbound-api",
            "error_code": UNREACHABLE_HANDSET if word == "undelivered" else None,
            "error_message": None,
            "from": message.extra["from"] or None,
            "messaging_service_sid": message.extra["service"] or None,
            "num_media": "0",
            "num_segments": str(count_segments(message.text)),
            "price": None,
            "price_unit": "USD",
            "sid": sid,
            "status": word,
            "subresource_uris": {"media": f"{uri}/Media.json"},
            "to": message.extra["to"],
            "uri": f"{uri}.json",
        }

    def _callback_form(self, message: Message, event: str, moment: float) -> dict[str, str]:
        word = WORDS[event]
        fields = {
            "ApiVersion": API,
            "MessageSid": message.provider_id,
            "MessageStatus": word,
            "SmsSid": message.provider_id,
            "SmsStatus": word,
            "To": message.extra["to"],
            "From": message.extra["from"],
            "AccountSid": self._settings.twilio_account_sid,
        }
        if event == "failed":
            fields["ErrorCode"] = str(UNREACHABLE_HANDSET)
        if event != "sent":
            fields["RawDlrDoneDate"] = datetime.fromtimestamp(moment, UTC).strftime("%y%m%d%H%M")
        return _rotated(fields, int(moment))


def _rotated(fields: dict[str, str], by: int) -> dict[str, str]:
    """The order of parameters is nobody's promise: so another moment makes other bytes."""
    names = list(fields)
    start = by % len(names)
    return {name: fields[name] for name in names[start:] + names[:start]}


def _check_body(text: str) -> None:
    if not text:
        raise RefusedError(21602, "Message body is required.")
    if len(text) > LONGEST_BODY:
        raise RefusedError(
            21617, f"The concatenated message body exceeds the {LONGEST_BODY} character limit"
        )


def _check_validity(seconds: str | None) -> None:
    if seconds is not None and not 1 <= (whole(seconds) or 0) <= LONGEST_VALIDITY:
        raise RefusedError(21624, "Validity period must be between 1 and 36000 seconds")


def _callback(given: dict[str, str]) -> str:
    url = given.get("StatusCallback", "").partition("#")[0]
    if url and not is_callback(url, plain_http=True):
        raise RefusedError(21609, f"The 'StatusCallback' URL {url} is not a valid URL.")
    return url


def _window(query: Mapping[str, str]) -> tuple[float, float]:
    since, until = 0.0, float("inf")
    if (value := query.get("DateSent")) is not None:
        since = _moment(value)
        until = since + timedelta(days=1).total_seconds()
    if (value := query.get("DateSent>")) is not None:
        since = _moment(value)
    if (value := query.get("DateSent<")) is not None:
        until = _moment(value) + 1
    return since, until


def _moment(value: str) -> float:
    try:
        at = datetime.fromisoformat(value)
    except ValueError:
        raise RefusedError(20001, f"Invalid date: {value}") from None
    return (at if at.tzinfo else at.replace(tzinfo=UTC)).timestamp()


def _not_ours(sender: str) -> RefusedError:
    text = f"The 'From' phone number {sender} is not a valid, message-capable Twilio phone number"
    return RefusedError(21606, text)


def _refusal(refused: RefusedError) -> web.Response:
    body = {
        "code": refused.code,
        "message": refused.message,
        "more_info": f"https://www.twilio.com/docs/errors/{refused.code}",
        "status": refused.status,
    }
    return json_answer(body, refused.status)
