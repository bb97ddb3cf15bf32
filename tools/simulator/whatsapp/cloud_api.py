"""WhatsApp Cloud API, as https://developers.facebook.com/docs/whatsapp/cloud-api words it."""

import base64
import json
import re
import secrets
import time
from typing import Any

from aiohttp import web

from tools.simulator import signatures
from tools.simulator.carrier import Carrier
from tools.simulator.messages.message import Message
from tools.simulator.messages.message_content import digits
from tools.simulator.receipt_sender import MakePost
from tools.simulator.request_bodies import MalformedError, json_object, mapping
from tools.simulator.settings import Settings
from tools.simulator.vendor import HttpVendor, Json, Post, json_answer
from tools.simulator.whatsapp import account
from tools.simulator.whatsapp.templates import RefusedError, approved, fill

VERSION = re.compile(r"v[0-9]{1,3}\.[0-9]{1,2}")
PHONE = re.compile(r"\+?[0-9 ().-]{7,25}")
LONGEST_REF = 512
TITLES = {
    100: "Invalid parameter",
    130429: "Rate limit hit",
    130497: "Business account is restricted from messaging users in this country",
    131008: "Required parameter is missing",
    131009: "Parameter value is not valid",
    131026: "Message undeliverable",
    131031: "Account has been locked",
    131042: "Business eligibility payment issue",
    131047: "Re-engagement message",
    132000: "Number of parameters does not match the expected number of params",
    132001: "Template name does not exist in the translation",
    132005: "Translated text too long",
    132012: "Parameter format does not match format in the created template",
    132015: "Template is paused",
}
REFUSALS = {
    "unreachable": RefusedError(131026, "Message undeliverable"),
    "refuse": RefusedError(131009, "Parameter value is not valid"),
    "account": RefusedError(131042, "Message failed to send: payment method of the account"),
    "throttle": RefusedError(130429, "Cloud API message throughput has been reached", status=429),
}
ERRORS_PAGE = "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"


class WhatsApp(HttpVendor):
    name = "whatsapp_cloud"
    channel = "whatsapp"
    can_read = True
    can_reply = True

    def __init__(self, carrier: Carrier) -> None:
        self._carrier = carrier
        self._settings = carrier.settings
        self._templates = approved(carrier.settings)

    def routes(self) -> list[web.RouteDef]:
        return [
            web.post("/whatsapp/{version}/{number}/messages", self.send),
            web.get("/whatsapp/{version}/app", self.app),
            web.get("/whatsapp/{version}/{number}", self.number),
            web.get(f"/whatsapp/{{version}}/{account.APP_ID}/subscriptions", self.subscriptions),
            web.get("/whatsapp/{version}/{id}/{edge:subscribed_apps|message_templates}", self.edge),
            web.route("*", "/whatsapp/{tail:.*}", self.unknown),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        if refusal := self._account_refusal(request):
            return refusal
        try:
            message = self._message(json_object(await request.read()))
        except MalformedError:
            return _error(RefusedError(100, "The request body is not a JSON object"))
        except RefusedError as refused:
            return _error(refused)
        return await self._carrier.carry(request, self, message)

    async def number(self, request: web.Request) -> web.Response:
        if refusal := self._account_refusal(request):
            return refusal
        fields = request.query.get("fields", "")
        return json_answer(account.number(self._settings, self._carrier.lacks, fields))

    async def app(self, request: web.Request) -> web.Response:
        if refusal := self._token_refusal(request):
            return refusal
        return json_answer({"id": account.APP_ID, "name": account.APP_NAME})

    async def subscriptions(self, request: web.Request) -> web.Response:
        """Of the app itself, which has a token of its own."""
        secret = f"{account.APP_ID}|{self._settings.whatsapp_app_secret}"
        if refusal := self._token_refusal(request, secret):
            return refusal
        return json_answer(account.subscriptions(self._settings, self._carrier.lacks))

    async def edge(self, request: web.Request) -> web.Response:
        """The lists of a business account."""
        if refusal := self._token_refusal(request):
            return refusal
        whose, lacks = request.match_info["id"], self._carrier.lacks
        if whose != self._settings.whatsapp_business_account_id or not whose:
            return _no_such_object(whose)
        if request.match_info["edge"] == "subscribed_apps":
            return json_answer(account.subscribed_apps(lacks))
        part = request.query.get("name", "")
        return json_answer(account.templates(self._templates, lacks, part))

    async def unknown(self, request: web.Request) -> web.Response:
        text = f"Unknown path components: {request.path.removeprefix('/whatsapp')}"
        return _graph_error(404, 2500, text)

    def accepted(self, message: Message) -> web.Response:
        # No `user_id`: Meta sends it only for messages sent to one.
        contact = {"input": message.extra["input"], "wa_id": message.phone}
        return json_answer(
            {
                "messaging_product": "whatsapp",
                "contacts": [contact],
                "messages": [{"id": message.provider_id, "message_status": _taken(message)}],
            }
        )

    def refused(self, kind: str, message: Message) -> web.Response:
        return _error(REFUSALS[kind])

    def receipt(self, message: Message, event: str, moment: float) -> Post:
        # In a batch the newest comes first and twice: neither order nor number is promised.
        events = [event, "sent", event] if message.suffers("batched_receipts") else [event]
        statuses = [_status(message, word, moment) for word in events]
        value: Json = {"statuses": statuses}
        if event != "failed":
            value["contacts"] = [_contact(message.phone)]
        return _call(self._settings, "messages", _messaging(self._settings) | value)

    def reply(self, message: Message, text: str) -> Post:
        reply = {
            "from": message.phone,
            "from_user_id": _user_id(message.phone),
            "id": f"wamid.{secrets.token_hex(16)}",
            "timestamp": str(int(time.time())),
            "type": "text",
            "text": {"body": text},
        }
        value = {"contacts": [_contact(message.phone)], "messages": [reply]}
        return _call(self._settings, "messages", _messaging(self._settings) | value)

    def _account_refusal(self, request: web.Request) -> web.Response | None:
        if refusal := self._token_refusal(request):
            return refusal
        number = request.match_info["number"]
        is_ours = number == self._settings.whatsapp_phone_number_id
        return None if is_ours else _no_such_object(number)

    def _token_refusal(self, request: web.Request, known: str = "") -> web.Response | None:
        version = request.match_info["version"]
        if not VERSION.fullmatch(version):
            return _graph_error(404, 2500, f"Unknown path components: /{version}")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        known = known or self._settings.whatsapp_token
        if scheme.lower() != "bearer" or not known or token.strip() != known:
            return _graph_error(401, 190, "Invalid OAuth access token - Cannot parse access token")
        return None

    def _message(self, body: dict[str, Any]) -> Message:
        if body.get("messaging_product") != "whatsapp":
            raise RefusedError(100, "The parameter messaging_product must be 'whatsapp'")
        to, ref = _recipient(body), body.get("biz_opaque_callback_data")
        if ref is not None and (not isinstance(ref, str) or len(ref) > LONGEST_REF):
            raise RefusedError(100, f"biz_opaque_callback_data: at most {LONGEST_REF} characters")
        if body.get("type", "text") != "template":
            raise RefusedError(131047, "More than 24 hours have passed: only a template may open")
        template, content = fill(mapping(body.get("template")), self._templates)
        phone = digits(to)
        return Message(
            channel=self.channel,
            provider=self.name,
            provider_id=_wamid(phone),
            phone=phone,
            text=content.text,
            code=content.code,
            links=content.links,
            ref=ref,
            extra={"input": to, "category": template.category},
        )


def _no_such_object(name: str) -> web.Response:
    return _graph_error(400, 100, f"Unsupported request. Object with ID '{name}' does not exist")


def _contact(phone: str) -> Json:
    known_as = {"wa_id": phone, "user_id": _user_id(phone)}
    return {"profile": {"name": "Simulator"}, **known_as}


def _user_id(phone: str) -> str:
    """Business-scoped: a country, a dot, and what is no phone."""
    return f"RU.{int(phone) * 7919 % 10**20:020}"


def account_event(settings: Settings, request: dict[str, Any]) -> MakePost | None:
    """A call that speaks of the account: `code` of an error, a `template` that is lost, or any
    `field` of the webhook with its `value`.
    """
    code, name, field = request.get("code"), request.get("template"), request.get("field")
    if field in account.WEBHOOK_FIELDS and field != "messages":
        return lambda: _call(settings, str(field), mapping(request.get("value")))
    if isinstance(name, str) and name:
        lost = {
            "event": str(request.get("event", "PAUSED")),
            "message_template_id": 1,
            "message_template_name": name,
            "message_template_language": settings.whatsapp_languages["ru"],
            "reason": "NONE",
        }
        return lambda: _call(settings, "message_template_status_update", lost)
    if not isinstance(code, int) or code not in TITLES:
        return None
    value = _messaging(settings) | {"errors": [_failure(code)]}
    return lambda: _call(settings, "messages", value)


def _messaging(settings: Settings) -> Json:
    number = {
        "display_phone_number": "15550783881",
        "phone_number_id": settings.whatsapp_phone_number_id,
    }
    return {"messaging_product": "whatsapp", "metadata": number}


def _call(settings: Settings, field: str, value: Json) -> Post:
    entry: Json = {"id": settings.whatsapp_business_account_id or "102290129340398"}
    if field != "messages":
        entry["time"] = int(time.time())  # of the webhook; messages carry times of their own
    entry["changes"] = [{"value": value, "field": field}]
    body = {"object": "whatsapp_business_account", "entry": [entry]}
    # Meta escapes slashes and all that is not ASCII: re-serialised, the bytes differ.
    raw = json.dumps(body, separators=(",", ":")).replace("/", "\\/").encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "facebookexternalua",
        "X-Hub-Signature-256": signatures.whatsapp(settings.whatsapp_app_secret, raw),
    }
    return Post(f"{settings.public_url}/hooks/whatsapp", raw, headers)


def _taken(message: Message) -> str:
    return "held_for_quality_assessment" if message.suffers("held") else "accepted"


def _recipient(body: dict[str, Any]) -> str:
    to = body.get("to")
    if not to:
        raise RefusedError(100, "The parameter to is required.")
    if body.get("recipient_type", "individual") != "individual":
        raise RefusedError(100, "recipient_type must be 'individual'")
    if not isinstance(to, str) or not PHONE.fullmatch(to) or not 7 <= len(digits(to)) <= 15:
        raise RefusedError(131009, "to: not a phone number")
    return to


def _status(message: Message, event: str, moment: float) -> Json:
    status: Json = {
        "id": message.provider_id,
        "status": event,
        "timestamp": str(int(moment)),
        "recipient_id": message.phone,
    }
    if event != "failed":  # Meta leaves it out where the message went to a phone and failed
        status["recipient_user_id"] = _user_id(message.phone)
    if message.ref is not None:
        status["biz_opaque_callback_data"] = message.ref
    if event == "failed":
        dropped = message.suffers("held")
        return status | {"errors": [_failure(132015 if dropped else 131026)]}
    category = message.extra["category"]
    pricing = {"billable": True, "pricing_model": "PMP", "type": "regular", "category": category}
    return status | {"pricing": pricing}


def _failure(code: int) -> Json:
    title = TITLES[code]
    details = {"details": "Unable to deliver message."}
    return {
        "code": code,
        "title": title,
        "message": title,
        "error_data": details,
        "href": ERRORS_PAGE,
    }


def _wamid(phone: str) -> str:
    token = secrets.token_hex(9).upper().encode()
    raw = b"\x1c\x18" + bytes([len(phone)]) + phone.encode() + b"\x15\x02\x00\x11\x18\x12" + token
    return "wamid." + base64.b64encode(raw + b"\x00").decode()


def _error(refused: RefusedError) -> web.Response:
    data = {"messaging_product": "whatsapp", "details": refused.details}
    message = f"(#{refused.code}) {TITLES[refused.code]}"
    return _graph_error(refused.status, refused.code, message, error_data=data)


def _graph_error(status: int, code: int, message: str, **more: Json) -> web.Response:
    error = {"message": message, "type": "OAuthException", "code": code, **more}
    trace = "A" + secrets.token_urlsafe(16)
    return json_answer({"error": {**error, "fbtrace_id": trace}}, status)
