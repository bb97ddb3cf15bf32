"""Twilio Programmable Messaging: SMS.

https://www.twilio.com/docs/messaging/api/message-resource
"""

import hmac
import re
from base64 import b64encode
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    Approval,
    Capabilities,
    Check,
    Content,
    DestinationRefusedError,
    Outgoing,
    RefusedError,
    SendError,
)
from channels.providers.inbound import (
    AccountAlert,
    AlertKind,
    InboundEvents,
    Receipt,
    ReceiptState,
    Reply,
    WebhookRequest,
)
from channels.providers.twilio import errors
from channels.providers.twilio.checks import Checks, campaigns

_MAX_VALIDITY = 36_000  # seconds
_PHONE = re.compile(r"\+[1-9][0-9]{6,14}")

# `partially_delivered` is left out: the rest may still arrive.
_STATES = {
    "sending": ReceiptState.SENT,
    "sent": ReceiptState.SENT,
    "delivered": ReceiptState.DELIVERED,
    "read": ReceiptState.READ,
    "undelivered": ReceiptState.FAILED,
    "failed": ReceiptState.FAILED,
    "canceled": ReceiptState.FAILED,
}


class Twilio(http.HttpProvider):
    name = "twilio"
    channel = "sms"
    capabilities = Capabilities(frozenset(Content), receipts=True, pollable=True)

    def __init__(
        self,
        *,
        api_url: str,
        account_sid: str,
        auth_token: str,
        sender: str,
        callback_url: str,
        timeout: http.Timeout = (2.0, 8.0),
    ) -> None:
        basic = b64encode(f"{account_sid}:{auth_token}".encode()).decode()
        super().__init__(
            api_url=api_url,
            token=auth_token,
            timeout=timeout,
            authorization=f"Basic {basic}",
            content_type="application/x-www-form-urlencoded",
        )
        self._account = f"/2010-04-01/Accounts/{quote(account_sid, safe='')}"
        self._path = f"{self._account}/Messages"
        self._callback_url = callback_url
        is_service = sender.startswith("MG") and len(sender) == 34
        self._sender = {"MessagingServiceSid" if is_service else "From": sender}

    def send(self, message: Outgoing) -> Accepted:
        self._check(message)
        form = {
            "To": message.phone,
            **self._sender,
            "Body": message.text,
            "StatusCallback": self._callback(message.ref),
            "ValidityPeriod": min(max(message.ttl, 1), _MAX_VALIDITY),
        }
        answer = self._post(f"{self._path}.json", urlencode(form).encode())
        provider_id = http.text(answer.data.get("sid"))
        if answer.status >= 300 or not provider_id:
            raise self._refusal(answer)
        # A Messaging Service says 0 until it has chosen a sender.
        return Accepted(provider_id)

    def _callback(self, ref: str) -> str:
        # Twilio echoes only this URL of ours, and its report may overtake our commit.
        separator = "&" if urlsplit(self._callback_url).query else "?"
        return f"{self._callback_url}{separator}{urlencode({'ref': ref})}"

    def check(self) -> None:
        answer = self._query(f"{self._account}.json")
        status = http.text(answer.data.get("status"))
        if answer.status >= 300 or status is None:
            raise self._refusal(answer)
        if status != "active":
            raise answer.error(http.ACCOUNT_REFUSED, "account_status", status)

    def more_checks(self, wanted: AccountRequirements) -> list[Check]:
        ((kind, sender),) = self._sender.items()
        checks = Checks(self._account, self._read_api)
        return list(checks.of(sender, is_service=kind == "MessagingServiceSid", wanted=wanted))

    def _read_api(self, path: str, host: str = "") -> http.Json:
        """`host` names another of Twilio's APIs, beside that of messages."""
        return self._get(path, url=self._url.replace("://api.", f"://{host}.", 1) if host else "")

    def _refusal(self, answer: http.VendorResponse) -> SendError:
        return answer.error_of(errors.VERDICTS, answer.data.get("code"), answer.data.get("message"))

    def approvals(self) -> list[Approval] | None:
        """The campaigns of a messaging service; Twilio has no review of other senders to read."""
        service = self._sender.get("MessagingServiceSid")
        return None if service is None else list(campaigns(self._read_api, service))

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        form = self._verified(call)
        return self.events_of(call.body, _status(form, call.url), _reply(form))

    def alert_of(self, receipt: Receipt) -> AccountAlert | None:
        """Twilio accepts most messages, and reports later that the account may not send them."""
        kind, is_account = errors.VERDICTS.get(http.number(receipt.error_code) or 0, http.REFUSED)
        is_failed = receipt.state is ReceiptState.FAILED
        if not (is_failed and is_account and issubclass(kind, RefusedError)):
            return None
        is_local = issubclass(kind, DestinationRefusedError)
        alert_kind = AlertKind.WARNING if is_local else AlertKind.REFUSED
        return AccountAlert(receipt.error_code or "", receipt.error_detail, alert_kind)

    def _verified(self, call: WebhookRequest) -> dict[str, str]:
        form = http.parse_form(call.body)
        fields = "".join(name + value for name, value in sorted(form.items()))
        expected = (self._sign(url + fields) for url in _url_variants(call.url))
        http.require_signature(call, "X-Twilio-Signature", *expected, secret=self._token)
        return form

    def _sign(self, signed: str) -> str:
        digest = hmac.digest(self._token.encode(), signed.encode(errors="replace"), "sha1")
        return b64encode(digest).decode()

    def poll(self, provider_id: str) -> Receipt | None:
        message = self._poll(f"{self._path}/{quote(provider_id, safe='')}.json")
        word = http.text(message.get("status"))
        if word not in _STATES:
            return None
        code = http.text(message.get("error_code"))
        return Receipt(
            provider_id=http.text(message.get("sid")),
            ref=None,
            state=_state(word, code),
            word=word,
            at=http.from_rfc2822(message.get("date_updated")),
            error_code=code,
            error_detail=http.redact(message.get("error_message")),
        )


def _status(form: dict[str, str], url: str) -> Receipt | None:
    word = form.get("MessageStatus", "")
    if word not in _STATES:
        return None
    code = form.get("ErrorCode") or None
    return Receipt(
        provider_id=form.get("MessageSid") or None,
        ref=parse_qs(urlsplit(url).query).get("ref", [None])[0],
        state=_state(word, code),
        word=word,
        error_code=code,
    )


def _reply(form: dict[str, str]) -> Reply | None:
    """Where "a message comes in" is set to the address of the receipts."""
    sender = form.get("From", "")
    if "MessageStatus" in form or "Body" not in form:
        return None
    # Twilio names the wish itself where its own opt-out is switched on, in any language.
    text = form.get("OptOutType") or form["Body"]
    return Reply(sender, text) if _PHONE.fullmatch(sender) else Reply("", text, sender)


def _state(word: str, code: str | None) -> ReceiptState:
    state = _STATES[word]
    return errors.failed_state(code) if state is ReceiptState.FAILED else state


def _url_variants(url: str) -> set[str]:
    """Twilio signs the URL with or without its port, however the URL was set."""
    parts = urlsplit(url)
    host = re.sub(r":\d+$", "", parts.netloc)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    variants = (parts._replace(netloc=netloc).geturl() for netloc in (host, f"{host}:{port}"))
    return {url, *variants}
