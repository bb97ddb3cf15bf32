"""Twilio's messages and reads of an account: https://www.twilio.com/docs/messaging/api,
https://www.twilio.com/docs/usage/api and twilio/twilio-oai.
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import format_datetime
from pathlib import Path
from urllib.parse import urlencode

from aiohttp import BasicAuth, web

from tools.simulator.carrier import Carrier
from tools.simulator.messages import Message, count_segments, digits
from tools.simulator.request_bodies import form, whole
from tools.simulator.vendor import HttpVendor, Json, Post, RefusedError, is_callback, json_response

API = "2010-04-01"
PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
SERVICE = re.compile(r"MG[0-9a-fA-F]{32}")
SENDER_LISTS = {
    "PhoneNumbers": "phone_numbers",
    "ShortCodes": "short_codes",
    "AlphaSenders": "alpha_senders",
}
MAX_BODY = 1600
MAX_VALIDITY = 36_000
UNREACHABLE_HANDSET = 30003
STATUSES = {"sent": "sent", "delivered": "delivered", "failed": "undelivered", "read": "read"}
OBJECTS: dict[str, Json] = json.loads(Path(__file__).with_suffix(".json").read_text("utf-8"))


def _refused(code: int, message: str, status: int = 400) -> RefusedError:
    url = f"https://www.twilio.com/docs/errors/{code}"
    body = {"code": code, "message": message, "more_info": url, "status": status}
    return RefusedError(body, status)


class Twilio(HttpVendor):
    name = "twilio"
    channel = "sms"
    can_reply = True
    malformed = _refused(21604, "A 'To' phone number is required.")

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._sid = self.settings.variable("TWILIO_ACCOUNT_SID")
        self._token = self.settings.variable("TWILIO_AUTH_TOKEN")
        self._from = self.settings.variable("TWILIO_FROM")

    def routes(self) -> list[web.RouteDef]:
        account, services = f"/twilio/{API}/Accounts/{{account}}", "/twilio/v1/Services/{sid}"
        lists = "|".join(SENDER_LISTS)
        return [
            web.get(f"/twilio/{API}/Accounts/{{account:[^/.]+}}.json", self._read(self.account)),
            web.get(f"{account}/Balance.json", self._read(self.balance)),
            web.get(f"{account}/IncomingPhoneNumbers.json", self._read(self.numbers)),
            web.get("/twilio/v1/Messaging/GeoPermissions", self._read(self.permissions)),
            web.get(f"{services}/{{kind:{lists}}}", self._read(self.senders)),
            web.get(f"{services}/Compliance/Usa2p", self._read(self.campaigns)),
            web.get(f"{account}/Messages/{{sid}}.json", self._read(self.poll)),
            web.post(f"{account}/Messages.json", self.send),
            web.route("*", "/twilio/{tail:.*}", self.unknown),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        self._check_account(request)
        return await self.carrier.carry(request, self, self._message(await form(request)))

    async def unknown(self, request: web.Request) -> web.Response:
        raise self._not_found(request)

    def poll(self, request: web.Request) -> Json:
        message = self.carrier.log.by_provider_id(self.name, request.match_info["sid"])
        if message is None:
            raise self._not_found(request)
        request["exchange"].phone = message.phone
        return self._resource(message, STATUSES[message.state])

    def account(self, _request: web.Request) -> Json:
        kind = "Trial" if "trial" in self.carrier.missing else "Full"
        return OBJECTS["account"] | {"sid": self._sid, "type": kind}

    def balance(self, _request: web.Request) -> Json:
        balance = "-0.05" if "money" in self.carrier.missing else "96.42"
        return {"account_sid": self._sid, "balance": balance, "currency": "USD"}

    def numbers(self, request: web.Request) -> Json:
        ours, number = self._from, request.query.get("PhoneNumber", "")
        row = OBJECTS["number"] | {"phone_number": ours, "friendly_name": ours}
        is_found = number in {"", ours} and ours.startswith("+")
        has_it = is_found and "sender" not in self.carrier.missing
        rows = [row] if has_it else []
        return {"incoming_phone_numbers": rows, "page": 0, "page_size": 50}

    def senders(self, request: web.Request) -> Json:
        """The senders of a messaging service: one number, unless it lacks any."""
        kind, service = request.match_info["kind"], request.match_info["sid"]
        row = OBJECTS["sender"] | {"service_sid": service}
        has_it = kind == "PhoneNumbers" and "sender" not in self.carrier.missing
        return _listed(SENDER_LISTS[kind], [row] if has_it else [])

    def campaigns(self, request: web.Request) -> Json:
        """https://www.twilio.com/docs/messaging/api/usapptoperson-resource"""
        row = OBJECTS["campaign"] | {"messaging_service_sid": request.match_info["sid"]}
        failed = OBJECTS["failed_campaign"] if "campaign" in self.carrier.missing else {}
        return _listed("compliance", [row | failed])

    def permissions(self, request: web.Request) -> Json:
        codes = [code for code in request.query.get("CountryCode", "").split(",") if code]
        lacking = codes[:1] if "country" in self.carrier.missing else []
        rows = [
            OBJECTS["country"] | {"country_code": code, "enabled": n >= len(lacking)}
            for n, code in enumerate(codes)
        ]
        return {"permissions": rows}

    def accepted(self, message: Message) -> web.Response:
        word = "accepted" if message.extra["service"] else "queued"
        return json_response(self._resource(message, word), 201)

    def refusal(self, kind: str, message: Message) -> RefusedError:
        to, sender = message.extra["to"], message.extra["from"]
        return {
            "unreachable": _refused(21614, f"'To' number: {to}, is not a mobile number"),
            "refuse": _refused(21617, "The concatenated message body exceeds the limit"),
            "account": _not_ours(sender),
            "throttle": _refused(20429, "Too Many Requests", status=429),
        }[kind]

    def receipt(self, message: Message, event: str, moment: float) -> Post | None:
        url, word, sid = message.extra["callback"], STATUSES[event], message.provider_id
        fields = {
            "ApiVersion": API,
            "MessageSid": sid,
            "MessageStatus": word,
            "SmsSid": sid,
            "SmsStatus": word,
            "To": message.extra["to"],
            "From": message.extra["from"],
            "AccountSid": self._sid,
        }
        if event == "failed":
            fields["ErrorCode"] = str(UNREACHABLE_HANDSET)
        if event != "sent":
            fields["RawDlrDoneDate"] = datetime.fromtimestamp(moment, UTC).strftime("%y%m%d%H%M")
        # Nobody promises the order of parameters: so another moment makes other bytes.
        names = list(fields)
        start = int(moment) % len(names)
        rotated = {name: fields[name] for name in names[start:] + names[:start]}
        return self._call(url, rotated) if url else None

    def reply(self, message: Message, text: str) -> Post | None:
        """Posts a person's reply to the URL of the receipts, which also takes incoming messages."""
        url, sid = message.extra["callback"].partition("?")[0], "SM" + secrets.token_hex(16)
        fields = {
            "ApiVersion": API,
            "AccountSid": self._sid,
            "MessageSid": sid,
            "SmsSid": sid,
            "SmsStatus": "received",
            "From": f"+{message.phone}",
            "To": self._from,
            "Body": text,
            "NumMedia": "0",
            "NumSegments": str(count_segments(text)),
        }
        return self._call(url, fields) if url else None

    def _call(self, url: str, form: dict[str, str]) -> Post:
        headers = {
            "Content-Type": "application/x-www-form-urlencoded; charset=UTF-8",
            "I-Twilio-Idempotency-Token": secrets.token_hex(16),
            "X-Twilio-Signature": signed(self._token, url, form),
        }
        return Post(url, urlencode(form).encode(), headers)

    def _check_account(self, request: web.Request) -> None:
        sid, token = self._sid, self._token
        wrong = _refused(20003, "Authenticate", status=401)
        try:
            fields = BasicAuth.decode(request.headers.get("Authorization", ""))
        except ValueError:
            raise wrong from None
        if not (sid or token) or (fields.login, fields.password) != (sid, token):
            raise wrong
        if request.match_info.get("account", sid) != sid:
            raise wrong

    def _not_found(self, request: web.Request) -> RefusedError:
        path = request.path.removeprefix("/twilio")
        return _refused(20404, f"The requested resource {path} was not found", status=404)

    def _message(self, fields: dict[str, str]) -> Message:
        to, text = fields.get("To", ""), fields.get("Body", "")
        if not to:
            raise self.malformed
        if not PHONE.fullmatch(to):
            raise _refused(21211, f"Invalid 'To' Phone Number: {to}")
        sender, callback = (
            self._sender(fields, to),
            fields.get("StatusCallback", "").partition("#")[0],
        )
        if callback and not is_callback(callback, plain_http=True):
            raise _refused(21609, f"The 'StatusCallback' URL {callback} is not a valid URL.")
        extra = sender | {"to": to, "callback": callback}
        if not text:
            raise _refused(21602, "Message body is required.")
        if len(text) > MAX_BODY:
            long = f"The concatenated message body exceeds the {MAX_BODY} character limit"
            raise _refused(21617, long)
        validity = fields.get("ValidityPeriod")
        if validity is not None and not 1 <= (whole(validity) or 0) <= MAX_VALIDITY:
            raise _refused(21624, "Validity period must be between 1 and 36000 seconds")
        return self.message("SM" + secrets.token_hex(16), digits(to), text, extra=extra)

    def _sender(self, fields: dict[str, str], to: str) -> Json:
        sender, service = fields.get("From", ""), fields.get("MessagingServiceSid", "")
        if service:
            if not SERVICE.fullmatch(service):
                raise _refused(21705, "The messaging service sid is invalid")
            return {"from": sender, "service": service}
        if not sender:
            raise _refused(21603, "A 'From' phone number is required.")
        if sender == to:
            raise _refused(21266, "'To' and 'From' number cannot be the same")
        if sender != self._from:
            raise _not_ours(sender)
        return {"from": sender, "service": ""}

    def _resource(self, message: Message, word: str) -> Json:
        account, sid = self._sid, message.provider_id
        at = format_datetime(datetime.fromtimestamp(message.at, UTC))
        uri = f"/{API}/Accounts/{account}/Messages/{sid}"
        return OBJECTS["message"] | {
            "account_sid": account,
            "body": message.text,
            "date_created": at,
            "date_sent": at if word in STATUSES.values() else None,
            "date_updated": at,
            "error_code": UNREACHABLE_HANDSET if word == "undelivered" else None,
            "from": message.extra["from"] or None,
            "messaging_service_sid": message.extra["service"] or None,
            "num_segments": str(count_segments(message.text)),
            "sid": sid,
            "status": word,
            "subresource_uris": {"media": f"{uri}/Media.json"},
            "to": message.extra["to"],
            "uri": f"{uri}.json",
        }


def _listed(key: str, rows: list[Json]) -> Json:
    return {key: rows, "meta": {"page": 0, "page_size": 20, "key": key}}


def _not_ours(sender: str) -> RefusedError:
    text = f"The 'From' phone number {sender} is not a valid, message-capable Twilio phone number"
    return _refused(21606, text)


def signed(auth_token: str, url: str, form: Mapping[str, str]) -> str:
    text = url + "".join(name + form[name] for name in sorted(form))
    mac = hmac.new(auth_token.encode(), text.encode(), hashlib.sha1)
    return base64.b64encode(mac.digest()).decode()
