"""WhatsApp Cloud API: template messages through Meta.

https://developers.facebook.com/documentation/business-messaging/whatsapp/
"""

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import parse_qsl, quote, urlsplit

import orjson

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    Approval,
    Capabilities,
    Check,
    Content,
    Outgoing,
    SendError,
)
from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InboundEvents,
    InvalidWebhookError,
    Receipt,
    ReceiptState,
    Recipient,
    Reply,
    WebhookRequest,
)
from channels.providers.whatsapp.checks import Account, approvals, checks
from channels.providers.whatsapp.errors import ERROR_KINDS, alerts_of, code_of, error_detail
from channels.providers.whatsapp.vendor import nearest_language

_STATES = {
    "sent": ReceiptState.SENT,
    "delivered": ReceiptState.DELIVERED,
    "read": ReceiptState.READ,  # `delivered` may be missing before it
    "failed": ReceiptState.FAILED,
}
# The template takes codes of up to 15 characters, including custom ones.
_CODES = (Content.CODE, Content.CUSTOM_DIGITS, Content.CUSTOM_CODE)
_ARRIVED = {ReceiptState.DELIVERED, ReceiptState.READ}
_PHONE = re.compile(r"[1-9][0-9]{6,14}")
# A business-scoped user id (BSUID): the country, a dot, at most 128 characters.
_USER_ID = re.compile(r"[A-Z]{2}\.[A-Za-z0-9.]{1,140}")
# `message_status` of a message that Meta accepted and may still reject with `failed` and 132015.
_RESERVATIONS = ("held_for_quality_assessment", "paused")


Change = tuple[str, http.Json]  # field, value


class WhatsAppCloud(http.HttpProvider):
    name = "whatsapp_cloud"
    channel = "whatsapp"
    authorization = "Bearer {token}"
    has_handshake = True

    def __init__(
        self,
        *,
        version: str,
        phone_number_id: str,
        business_account_id: str = "",
        app_secret: str,
        verify_token: str,
        code_template: str,
        link_template: str,
        code_link_template: str,
        languages: Mapping[str, str],
        **connection: Any,
    ) -> None:
        super().__init__(**connection)
        self._number = f"/{quote(version)}/{quote(phone_number_id)}"
        self._path = f"{self._number}/messages"
        self._app_secret = app_secret
        self._verify_token = verify_token
        self._languages = languages
        self._templates = {
            **dict.fromkeys(_CODES, code_template),
            Content.LINK: link_template,
            Content.CODE_WITH_LINK: code_link_template,
        }
        self._account = Account(
            version,
            phone_number_id,
            business_account_id,
            app_secret,
            verify_token,
            [*dict.fromkeys(name for name in self._templates.values() if name)],
            languages.values(),
            self._get,
        )
        # A content without a template is not supported.
        contents = frozenset(content for content, name in self._templates.items() if name)
        self.capabilities = Capabilities(contents, receipts=True)

    def send(self, message: Outgoing) -> Accepted:
        self._check(message)
        payload = {
            "messaging_product": "whatsapp",
            "recipient_type": "individual",
            "to": message.phone.removeprefix("+"),
            "type": "template",
            "biz_opaque_callback_data": message.ref,
            "template": {
                "name": self._templates[message.content],
                "language": {
                    "code": self._languages[self.locale_for(message.locale, message.locale)]
                },
                "components": _components(message),
            },
        }
        response = self._post(self._path, orjson.dumps(payload))
        accepted = http.first(response.data.get("messages"))
        if provider_id := http.text(accepted.get("id")):
            template = self._templates[message.content]
            return Accepted(
                provider_id,
                _reservation_alert(accepted.get("message_status"), template),
                # Meta may spell a number as on the day when its account was made, or return another
                # number.
                http.text(http.first(response.data.get("contacts")).get("wa_id")) or "",
            )
        raise self._refusal(response)

    def locale_for(self, tag: str, language: str) -> str:
        return nearest_language(self._languages, tag, language)

    def check(self) -> None:
        response = self._query(f"{self._number}?fields=id")
        if http.text(response.data.get("id")) is None:
            raise self._refusal(response)

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        return list(checks(self._account, requirements))

    def approvals(self) -> list[Approval] | None:
        """The approvals of templates; None without the id of the business account."""
        if not self._account.business_account:
            return None
        return list(approvals(self._account))

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        if call.method == "GET":
            return InboundEvents(call.body, handshake=self._challenge(call.url))
        changes = self._signed_changes(call)
        statuses = _objects_named(changes, "statuses")
        # People's messages in the same call are not receipts and are not stored.
        is_alone = all("statuses" in value and "messages" not in value for _field, value in changes)
        return InboundEvents(
            call.body if is_alone else orjson.dumps({"statuses": statuses}),
            # Matches by the id and `biz_opaque_callback_data`: the phone may be absent.
            receipts=[receipt for status in statuses if (receipt := _receipt(status))],
            recipients=[recipient for status in statuses if (recipient := _recipient(status))],
            replies=[
                reply
                for message in _objects_named(changes, "messages")
                if (reply := _reply(message))
            ],
            alerts=[alert for field, value in changes for alert in alerts_of(field, value)],
        )

    def _refusal(self, response: http.VendorResponse) -> SendError:
        error = http.mapping(response.data.get("error"))
        return response.error_of(ERROR_KINDS, code_of(error), error_detail(error))

    def _challenge(self, url: str) -> str:
        query = dict(parse_qsl(urlsplit(url).query, keep_blank_values=True))
        token = query.get("hub.verify_token", "")
        mode = query.get("hub.mode")
        is_known = bool(self._verify_token) and http.constant_time_equal(token, self._verify_token)
        if not is_known or mode != "subscribe" or "hub.challenge" not in query:
            raise InvalidWebhookError("hub.verify_token does not match")
        return query["hub.challenge"]

    def _signed_changes(self, call: WebhookRequest) -> list[Change]:
        """The changes of all entries of the signed body."""
        expected = "sha256=" + http.sha256_hmac(self._app_secret.encode(), call.body)
        http.require_signature(call, "X-Hub-Signature-256", expected, secret=self._app_secret)
        return [
            (http.text_of(change, "field"), http.mapping(change.get("value")))
            for entry in http.objects(http.parse(call.body).get("entry"))
            for change in http.objects(entry.get("changes"))
        ]


def _components(message: Outgoing) -> list[http.Json]:
    code = message.code or ""
    slug = urlsplit(message.short_url or "").path.rpartition("/")[2]
    body, button = {
        **dict.fromkeys(_CODES, ([code], code)),
        Content.LINK: ([message.text], slug),
        Content.CODE_WITH_LINK: ([code, message.brand], slug),
    }[message.content]
    return [
        {"type": "body", "parameters": _texts(body)},
        {"type": "button", "sub_type": "url", "index": "0", "parameters": _texts([button])},
    ]


def _texts(values: list[str]) -> list[http.Json]:
    # Meta refuses a parameter with a newline, a tab or more than four spaces in a row.
    return [{"type": "text", "text": " ".join(value.split())} for value in values]


def _objects_named(changes: list[Change], name: str) -> list[http.Json]:
    return [row for _field, value in changes for row in http.objects(value.get(name))]


def _recipient(status: http.Json) -> Recipient | None:
    if _STATES.get(http.text_of(status, "status")) not in _ARRIVED:
        return None
    user_id = _user_id(status.get("recipient_user_id"))
    ref = http.text(status.get("biz_opaque_callback_data"))
    return Recipient(user_id, ref) if user_id and ref else None


def _reply(message: http.Json) -> Reply | None:
    """A reply from a phone, or from a business-scoped user id if the phone is hidden."""
    sender = http.text_of(message, "from")
    reply = _reply_text(message)
    if not reply:
        return None
    user_id = _user_id(message.get("from_user_id"))
    at = http.from_timestamp(message.get("timestamp"))
    if _PHONE.fullmatch(sender):
        return Reply(f"+{sender}", reply, user_id, at)
    return Reply("", reply, user_id or sender, at)


def _user_id(value: object) -> str:
    user_id = http.text(value) or ""
    return user_id if _USER_ID.fullmatch(user_id) else ""


def _reply_text(message: http.Json) -> str | None:
    """The text of a person's message, typed or from a quick-reply button."""
    typed = http.mapping(message.get("text"))
    button = http.mapping(message.get("button"))
    return http.text(typed.get("body")) or http.text(button.get("text"))


def _reservation_alert(message_status: object, template: str) -> AccountAlert | None:
    status = http.text(message_status)
    return AccountAlert(status, template, AlertKind.TEMPLATE) if status in _RESERVATIONS else None


def _receipt(status: http.Json) -> Receipt | None:
    vendor_status = http.text(status.get("status"))
    if vendor_status not in _STATES:
        return None
    error = http.first(status.get("errors"))
    code = http.text(error.get("code"))
    return Receipt(
        provider_id=http.text(status.get("id")),
        ref=http.text(status.get("biz_opaque_callback_data")),
        state=_state(vendor_status, code),
        vendor_status=vendor_status,
        at=http.from_timestamp(status.get("timestamp")),
        error_code=code,
        error_detail=http.redact(error_detail(error)),
    )


def _state(vendor_status: str, code: str | None) -> ReceiptState:
    state = _STATES[vendor_status]
    if state is ReceiptState.FAILED and ERROR_KINDS.get(http.number(code) or 0) == http.UNREACHABLE:
        return ReceiptState.UNREACHABLE
    return state
