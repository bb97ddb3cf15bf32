"""WhatsApp Cloud API: https://developers.facebook.com/docs/whatsapp/cloud-api, and the Graph API's
reads of an account: https://developers.facebook.com/documentation/business-messaging/whatsapp
"""

import base64
import hashlib
import hmac
import json
import re
import secrets
import time
from typing import Any

from aiohttp import web

from tools.simulator.carrier import Carrier
from tools.simulator.messages import Message, digits, is_phone
from tools.simulator.request_bodies import json_object, mapping
from tools.simulator.settings import Settings
from tools.simulator.vendor import HttpVendor, Json, MakePost, Post, RefusedError, json_response
from tools.simulator.whatsapp.templates import TITLES, approved, fill, graph_error, refused

VERSION = re.compile(r"v[0-9]{1,3}\.[0-9]{1,2}")
PHONE = re.compile(r"\+?[0-9 ().-]{7,25}")
MAX_REF = 512
REFUSALS: dict[str, tuple[Any, ...]] = {
    "unreachable": (131026, "Message undeliverable"),
    "refuse": (131009, "Parameter value is not valid"),
    "account": (131042, "Message failed to send: payment method of the account"),
    "throttle": (130429, "Cloud API message throughput has been reached", 429),
}
ERRORS_PAGE = "https://developers.facebook.com/docs/whatsapp/cloud-api/support/error-codes/"
APP = {"id": "2949482758682047", "name": "Simulator"}
TEMPLATE_ID = 594425479261596
WEBHOOK_FIELDS = (
    *("account_alerts", "account_review_update", "account_update"),
    *("message_template_quality_update", "message_template_status_update", "messages"),
    *("phone_number_quality_update", "template_category_update"),
)
DEFAULT_FIELDS = "display_phone_number,verified_name,quality_rating"


class WhatsApp(HttpVendor):
    name = "whatsapp_cloud"
    channel = "whatsapp"
    can_read = True
    can_reply = True
    malformed = refused(100, "The request body is not a JSON object")

    def __init__(self, carrier: Carrier) -> None:
        super().__init__(carrier)
        self._templates = approved(carrier.settings)

    def routes(self) -> list[web.RouteDef]:
        subscriptions = f"/whatsapp/{{version}}/{APP['id']}/subscriptions"
        return [
            web.post("/whatsapp/{version}/{number}/messages", self.send),
            web.get("/whatsapp/{version}/app", self._read(lambda _request: APP)),
            web.get("/whatsapp/{version}/{number}", self._read(self.number)),
            web.get(subscriptions, self.subscriptions),
            web.get("/whatsapp/{version}/{id}/subscribed_apps", self._read(self.apps)),
            web.get("/whatsapp/{version}/{id}/message_templates", self._read(self.templates)),
            web.route("*", "/whatsapp/{tail:.*}", self.unknown),
        ]

    async def send(self, request: web.Request) -> web.StreamResponse:
        self._check_account(request)
        message = self._message(json_object(await request.read()))
        return await self.carrier.carry(request, self, message)

    async def unknown(self, request: web.Request) -> web.Response:
        text = f"Unknown path components: {request.path.removeprefix('/whatsapp')}"
        raise graph_error(404, 2500, text)

    def number(self, request: web.Request) -> Json:
        """The requested fields that Meta has; `id` comes unasked."""
        missing = self.carrier.missing
        values = {
            "id": self.settings.variable("WHATSAPP_PHONE_NUMBER_ID"),
            "display_phone_number": "+1 555-078-3881",
            "verified_name": "Simulator",
            "status": "PENDING" if "registration" in missing else "CONNECTED",
            "platform_type": "NOT_APPLICABLE" if "registration" in missing else "CLOUD_API",
            "quality_rating": "RED" if "quality" in missing else "GREEN",
            "code_verification_status": "UNVERIFIED" if "verification" in missing else "VERIFIED",
            "name_status": "DECLINED" if "display_name" in missing else "APPROVED",
        }
        fields = request.query.get("fields", "") or DEFAULT_FIELDS
        names = ("id", *(name.strip() for name in fields.split(",")))
        return {name: values[name] for name in names if name in values}

    async def subscriptions(self, request: web.Request) -> web.Response:
        """The token of the app itself."""
        self._check_account(request, f"{APP['id']}|{self.settings.variable('WHATSAPP_APP_SECRET')}")
        missing = self.carrier.missing
        subscribed = ("messages",) if "webhook_fields" in missing else WEBHOOK_FIELDS
        subscription = {
            "object": "whatsapp_business_account",
            "callback_url": f"{self.settings.public_url}/hooks/whatsapp",
            "active": True,
            "fields": [{"name": name, "version": "v25.0"} for name in subscribed],
        }
        return json_response({"data": [] if "webhook" in missing else [subscription]})

    def apps(self, _request: web.Request) -> Json:
        link = f"https://www.facebook.com/games/?app_id={APP['id']}"
        api_data = {"whatsapp_business_api_data": {"link": link, **APP}}
        return {"data": [] if "subscription" in self.carrier.missing else [api_data]}

    def templates(self, request: web.Request) -> Json:
        """Meta's `name` finds whatever contains it."""
        part, missing = request.query.get("name", ""), self.carrier.missing
        rows: list[Json] = [
            {
                "name": name,
                "language": language,
                "status": "APPROVED",
                "quality_score": {"score": "GREEN"},
                "rejected_reason": "NONE",
                "category": template.category.upper(),
                "id": str(TEMPLATE_ID + len(name) + len(language)),
            }
            for name, template in self._templates.items()
            for language in template.bodies
            if part in name
        ]
        if "template" in missing and rows:
            rows[0]["status"] = "PENDING"
        if "template_rejected" in missing and rows:
            rows[0] |= {"status": "REJECTED", "rejected_reason": "INVALID_FORMAT"}
        if "template_paused" in missing and rows:
            rows[-1] |= {"status": "PAUSED", "quality_score": {"score": "RED"}}
        return {"data": rows, "paging": {"cursors": {"before": "MAZDZD", "after": "MjQZD"}}}

    def accepted(self, message: Message) -> web.Response:
        # No `user_id`: Meta sends it only for messages sent to one.
        contact = {"input": message.extra["input"], "wa_id": message.phone}
        status = "held_for_quality_assessment" if message.suffers("held") else "accepted"
        sent = {"id": message.provider_id, "message_status": status}
        response = {"messaging_product": "whatsapp", "contacts": [contact], "messages": [sent]}
        return json_response(response)

    def refusal(self, kind: str, message: Message) -> RefusedError:
        return refused(*REFUSALS[kind])

    def receipt(self, message: Message, event: str, moment: float) -> Post:
        # In a batch the newest comes first and twice: neither order nor number is promised.
        events = [event, "sent", event] if message.suffers("batched_receipts") else [event]
        value: Json = {"statuses": [_status(message, word, moment) for word in events]}
        if event != "failed":
            value["contacts"] = [_contact(message.phone)]
        return _call(self.settings, "messages", _messaging(self.settings) | value)

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
        return _call(self.settings, "messages", _messaging(self.settings) | value)

    def _check_account(self, request: web.Request, expected: str = "") -> None:
        """The token, and the number or business account that the path names."""
        path, settings = request.match_info, self.settings
        if not VERSION.fullmatch(path["version"]):
            raise graph_error(404, 2500, f"Unknown path components: /{path['version']}")
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        expected = expected or settings.variable("WHATSAPP_TOKEN")
        if scheme.lower() != "bearer" or not expected or token.strip() != expected:
            raise graph_error(401, 190, "Invalid OAuth access token - Cannot parse access token")
        account = {"id": settings.variable("WHATSAPP_BUSINESS_ACCOUNT_ID")}
        account |= {"number": settings.variable("WHATSAPP_PHONE_NUMBER_ID")}
        for name in account.keys() & path.keys():
            if path[name] != account[name] or not path[name]:
                text = f"Unsupported request. Object with ID '{path[name]}' does not exist"
                raise graph_error(400, 100, text)

    def _message(self, body: dict[str, Any]) -> Message:
        if body.get("messaging_product") != "whatsapp":
            raise refused(100, "The parameter messaging_product must be 'whatsapp'")
        to, ref = _recipient(body), body.get("biz_opaque_callback_data")
        if ref is not None and (not isinstance(ref, str) or len(ref) > MAX_REF):
            raise refused(100, f"biz_opaque_callback_data: at most {MAX_REF} characters")
        if body.get("type", "text") != "template":
            raise refused(131047, "More than 24 hours have passed: only a template may open")
        template, content = fill(mapping(body.get("template")), self._templates)
        extra, phone = {"input": to, "category": template.category}, digits(to)
        options: Json = {"ref": ref, "extra": extra, "code": content.code}
        return self.message(_wamid(phone), phone, content.text, buttons=content.buttons, **options)


def _contact(phone: str) -> Json:
    return {"profile": {"name": "Simulator"}, "wa_id": phone, "user_id": _user_id(phone)}


def _user_id(phone: str) -> str:
    """A business-scoped user id: a country, a dot, and digits that are not the phone."""
    return f"RU.{int(phone) * 7919 % 10**20:020}"


def account_event(settings: Settings, request: dict[str, Any]) -> MakePost | None:
    """A call about the account: an error `code`, or any webhook `field` with its `value`."""
    code, field = request.get("code"), request.get("field")
    if field in WEBHOOK_FIELDS and field != "messages":
        return lambda: _call(settings, str(field), mapping(request.get("value")))
    if not isinstance(code, int) or code not in TITLES:
        return None
    value = _messaging(settings) | {"errors": [_failure(code)]}
    return lambda: _call(settings, "messages", value)


def _messaging(settings: Settings) -> Json:
    number = {"display_phone_number": "15550783881"}
    number |= {"phone_number_id": settings.variable("WHATSAPP_PHONE_NUMBER_ID")}
    return {"messaging_product": "whatsapp", "metadata": number}


def _call(settings: Settings, field: str, value: Json) -> Post:
    entry: Json = {"id": settings.variable("WHATSAPP_BUSINESS_ACCOUNT_ID") or "102290129340398"}
    if field != "messages":
        entry["time"] = int(time.time())  # of the webhook; messages carry times of their own
    entry["changes"] = [{"value": value, "field": field}]
    body = {"object": "whatsapp_business_account", "entry": [entry]}
    # Meta escapes slashes and all that is not ASCII: re-serialised, the bytes differ.
    raw = json.dumps(body, separators=(",", ":")).replace("/", "\\/").encode()
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "facebookexternalua",
        "X-Hub-Signature-256": signed(settings.variable("WHATSAPP_APP_SECRET"), raw),
    }
    return Post(f"{settings.public_url}/hooks/whatsapp", raw, headers)


def _recipient(body: dict[str, Any]) -> str:
    to = body.get("to")
    if not to:
        raise refused(100, "The parameter to is required.")
    if body.get("recipient_type", "individual") != "individual":
        raise refused(100, "recipient_type must be 'individual'")
    if not isinstance(to, str) or not PHONE.fullmatch(to) or not is_phone(to):
        raise refused(131009, "to: not a phone number")
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
    error = {"code": code, "title": TITLES[code], "message": TITLES[code], "href": ERRORS_PAGE}
    return error | {"error_data": {"details": "Unable to deliver message."}}


def _wamid(phone: str) -> str:
    token = secrets.token_hex(9).upper().encode()
    raw = b"\x1c\x18" + bytes([len(phone)]) + phone.encode() + b"\x15\x02\x00\x11\x18\x12" + token
    return "wamid." + base64.b64encode(raw + b"\x00").decode()


def signed(app_secret: str, body: bytes) -> str:
    return "sha256=" + hmac.new(app_secret.encode(), body, hashlib.sha256).hexdigest()
