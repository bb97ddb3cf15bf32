"""Twilio Programmable Messaging: SMS.

https://www.twilio.com/docs/messaging/api/message-resource
https://www.twilio.com/docs/api/errors (28 November 2026). An unlisted code follows the
HTTP status of the response; in a receipt it fails the message.
"""

import hmac
import re
from base64 import b64encode
from collections.abc import Iterator
from typing import Any
from urllib.parse import parse_qs, quote, urlencode, urlsplit

from channels.providers import http
from channels.providers.base import (
    Accepted,
    AccountRequirements,
    Approval,
    ApprovalKind,
    ApprovalStatus,
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

_MAX_VALIDITY = 36_000  # seconds
_PHONE = re.compile(r"\+[1-9][0-9]{6,14}")
# A messaging service's lists of senders, by the names in their paths.
_SENDER_LISTS = {
    "PhoneNumbers": "phone_numbers",
    "ShortCodes": "short_codes",
    "AlphaSenders": "alpha_senders",
}
# Other states of a campaign, such as IN_PROGRESS, are under review.
_CAMPAIGN_STATUSES = {
    "VERIFIED": ApprovalStatus.APPROVED,
    "FAILED": ApprovalStatus.REJECTED,
    "SUSPENDED": ApprovalStatus.DISABLED,
}

_NO_SUCH_PHONE = (21211, 21217, 21614, 21635, 30005, 30006)
_NO_PERSON = (21265, 21266, 21610)  # a short code; the sender itself; somebody who said STOP
_NO_ACCOUNT = (20003, 20005, 20006, 20008, 20010, 20404, 21608, 30002)
# The number or name to send from. Twilio sent 21606 before it had the more exact codes.
_NO_SENDER = (21210, 21212, 21267, 21601, 21603, 21606, 21607, 21657, 21659, 21660, 21661, 21709)
_NO_SERVICE = (21701, 21702, 21703, 21704, 21705)  # no such messaging service, or it has no sender
# The country is not enabled, or the sender cannot reach it or is not registered there.
_NO_ROUTE = (21408, 21612, 30018, 30024, 30032, 30033, 30034, 30035, 30040, 30042)

ERROR_KINDS: dict[int, http.ErrorKind] = {
    **dict.fromkeys((*_NO_SUCH_PHONE, *_NO_PERSON), http.UNREACHABLE),
    30004: http.BARRED,  # "blocked from receiving this message"
    **dict.fromkeys((*_NO_ACCOUNT, *_NO_SENDER, *_NO_SERVICE), http.ACCOUNT_REFUSED),
    21609: http.ACCOUNT_REFUSED,  # our address for receipts
    **dict.fromkeys(_NO_ROUTE, http.DESTINATION_REFUSED),
    **dict.fromkeys((21617, 30007, 30038, 30450), http.REFUSED),  # the text, or a suspected fraud
    # Queues, rates, and daily limits of carriers in the USA.
    **dict.fromkeys((14107, 20429, 21611, 30001, 30022, 30023, 30027), http.ACCOUNT_THROTTLED),
    **dict.fromkeys((30003, 30008, 30009, 30017, 30410), http.TRANSIENT),
}
_EXPIRED = 30036  # its ValidityPeriod ended before Twilio sent it
_FAILED_STATES: dict[http.ErrorKind | None, ReceiptState] = {
    http.UNREACHABLE: ReceiptState.UNREACHABLE,
    http.BARRED: ReceiptState.BARRED,
}

# `partially_delivered` is left out: the rest may still be delivered.
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
    content_type = "application/x-www-form-urlencoded"
    capabilities = Capabilities(frozenset(Content), receipts=True, pollable=True)

    def __init__(
        self,
        *,
        account_sid: str,
        auth_token: str,
        sender: str,
        callback_url: str,
        **connection: Any,
    ) -> None:
        super().__init__(token=auth_token, **connection)
        basic = b64encode(f"{account_sid}:{auth_token}".encode()).decode()
        self._headers["Authorization"] = f"Basic {basic}"
        self._account = f"/2010-04-01/Accounts/{quote(account_sid, safe='')}"
        self._path = f"{self._account}/Messages"
        self._callback_url = callback_url
        is_service = sender.startswith("MG") and len(sender) == 34
        self._sender = {"MessagingServiceSid" if is_service else "From": sender}

    def send(self, message: Outgoing) -> Accepted:
        self._check(message)
        # Twilio echoes this URL, and nothing else that we set. Its report may overtake our commit.
        separator = "&" if urlsplit(self._callback_url).query else "?"
        form = {
            "To": message.phone,
            **self._sender,
            "Body": message.text,
            "StatusCallback": f"{self._callback_url}{separator}{urlencode({'ref': message.ref})}",
            "ValidityPeriod": min(max(message.ttl, 1), _MAX_VALIDITY),
        }
        response = self._post(f"{self._path}.json", urlencode(form).encode())
        provider_id = http.text(response.data.get("sid"))
        if response.status >= 300 or not provider_id:
            raise self._refusal(response)
        return Accepted(provider_id)

    def check(self) -> None:
        response = self._query(f"{self._account}.json")
        status = http.text(response.data.get("status"))
        if response.status >= 300 or status is None:
            raise self._refusal(response)
        if status != "active":
            raise response.error(http.ACCOUNT_REFUSED, "account_status", status)

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        """Checks the balance, a sender, and the allowed countries."""
        ((kind, sender),) = self._sender.items()
        topic = "service" if kind == "MessagingServiceSid" else "sender"
        look = self._check_service if topic == "service" else self._check_sender
        countries = requirements.countries
        return [
            *http.run_check("trial", self._check_trial),
            *http.run_check("balance", self._check_balance),
            *http.run_check(topic, lambda: look(sender)),
            *http.run_check("countries", lambda: self._check_countries(countries)),
        ]

    def _check_trial(self) -> Iterator[Check]:
        kind = http.text(self._read_api(f"{self._account}.json").get("type")) or ""
        yield Check("trial", kind.lower() != "trial", kind)

    def _check_balance(self) -> Iterator[Check]:
        money = self._read_api(f"{self._account}/Balance.json")
        balance = http.text_of(money, "balance")
        detail = f"{balance} {http.text_of(money, 'currency')}".strip()
        yield Check("balance", http.is_positive(balance), detail)

    def _check_service(self, sid: str) -> Iterator[Check]:
        """Checks that the messaging service has a sender: without one it sends nothing (21703)."""
        for path, key in _SENDER_LISTS.items():
            listed = self._read_api(f"{_service(sid)}/{path}?PageSize=20", "messaging")
            if senders := http.objects(listed.get(key)):
                yield Check("service", True, f"{path}: {len(senders)}")
                return
        yield Check("service", False)

    def _check_sender(self, sender: str) -> Iterator[Check]:
        if not sender.startswith("+"):  # a name or a short code: the list contains neither
            yield Check("sender", None if sender else False, sender)
            return
        path = f"{self._account}/IncomingPhoneNumbers.json?PhoneNumber={quote(sender, safe='')}"
        listed = http.objects(self._read_api(path).get("incoming_phone_numbers"))
        numbers = [row for row in listed if row.get("phone_number") == sender]
        can_send = any(http.mapping(row.get("capabilities")).get("sms") is True for row in numbers)
        yield Check("sender", can_send, sender)

    def _check_countries(self, countries: tuple[str, ...]) -> Iterator[Check]:
        """Checks that the account may send to these countries.

        https://www.twilio.com/docs/messaging/guides/sms-geo-permissions
        """
        if not countries:
            return
        path = f"/v1/Messaging/GeoPermissions?CountryCode={quote(','.join(countries))}"
        listed = http.objects(self._read_api(path, "accounts").get("permissions"))
        enabled = {row.get("country_code") for row in listed if row.get("enabled") is True}
        missing = [country for country in countries if country not in enabled]
        yield Check("countries", not missing, ", ".join(missing or countries))

    def _read_api(self, path: str, host: str = "") -> http.Json:
        """Reads the API of messages, or the one that `host` names, such as `accounts`."""
        return self._get(path, url=self._url.replace("://api.", f"://{host}.", 1) if host else "")

    def _refusal(self, response: http.VendorResponse) -> SendError:
        data = response.data
        return response.error_of(ERROR_KINDS, data.get("code"), data.get("message"))

    def approvals(self) -> list[Approval] | None:
        """The campaigns of a messaging service; Twilio has no readable review of other senders."""
        service = self._sender.get("MessagingServiceSid")
        if service is None:
            return None
        path = f"{_service(service)}/Compliance/Usa2p?PageSize=20"
        rows = http.objects(self._read_api(path, "messaging").get("compliance"))
        return [_campaign(row) for row in rows]

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        form = http.parse_form(call.body)
        fields = "".join(name + value for name, value in sorted(form.items()))
        expected = (self._sign(url + fields) for url in _url_variants(call.url))
        http.require_signature(call, "X-Twilio-Signature", *expected, secret=self._token)
        return self.events_of(call.body, _status(form, call.url), _reply(form))

    def alert_of(self, receipt: Receipt) -> AccountAlert | None:
        """The alert of a failed receipt.

        Twilio accepts most messages, and reports later that the account may not send them.
        """
        kind, is_account = ERROR_KINDS.get(http.number(receipt.error_code) or 0, http.REFUSED)
        is_failed = receipt.state is ReceiptState.FAILED
        if not (is_failed and is_account and issubclass(kind, RefusedError)):
            return None
        is_local = issubclass(kind, DestinationRefusedError)
        alert_kind = AlertKind.WARNING if is_local else AlertKind.REFUSED
        return AccountAlert(receipt.error_code or "", receipt.error_detail, alert_kind)

    def _sign(self, signed: str) -> str:
        digest = hmac.digest(self._token.encode(), signed.encode(errors="replace"), "sha1")
        return b64encode(digest).decode()

    def poll(self, provider_id: str) -> Receipt | None:
        message = self._poll(f"{self._path}/{quote(provider_id, safe='')}.json")
        status = http.text(message.get("status"))
        if status not in _STATES:
            return None
        code = http.text(message.get("error_code"))
        return Receipt(
            provider_id=http.text(message.get("sid")),
            ref=None,
            state=_state(status, code),
            vendor_status=status,
            at=http.from_rfc2822(message.get("date_updated")),
            error_code=code,
            error_detail=http.redact(message.get("error_message")),
        )


def _service(sid: str) -> str:
    return f"/v1/Services/{quote(sid, safe='')}"


def _campaign(row: http.Json) -> Approval:
    status = http.upper_of(row, "campaign_status")
    use_case = http.text_of(row, "us_app_to_person_usecase")
    errors = (http.redact(error.get("description")) for error in http.objects(row.get("errors")))
    return Approval(
        ApprovalKind.CAMPAIGN,
        " ".join(filter(None, (http.text(row.get("sid")), use_case))),
        _CAMPAIGN_STATUSES.get(status, ApprovalStatus.PENDING),
        vendor_status=status,
        reason="; ".join(filter(None, errors)),
    )


def _status(form: dict[str, str], url: str) -> Receipt | None:
    status = form.get("MessageStatus", "")
    if status not in _STATES:
        return None
    code = form.get("ErrorCode") or None
    return Receipt(
        provider_id=form.get("MessageSid") or None,
        ref=parse_qs(urlsplit(url).query).get("ref", [None])[0],
        state=_state(status, code),
        vendor_status=status,
        error_code=code,
    )


def _reply(form: dict[str, str]) -> Reply | None:
    """A person's reply, if the webhook contains one.

    Twilio sends replies here if "a message comes in" has the address of the receipts.
    """
    sender = form.get("From", "")
    if "MessageStatus" in form or "Body" not in form:
        return None
    # Twilio marks opt-outs itself, in any language, if its own opt-out handling is on.
    text = form.get("OptOutType") or form["Body"]
    return Reply(sender, text) if _PHONE.fullmatch(sender) else Reply("", text, sender)


def _state(status: str, code: str | None) -> ReceiptState:
    state = _STATES[status]
    if state is not ReceiptState.FAILED:
        return state
    number = http.number(code) or 0
    if number == _EXPIRED:
        return ReceiptState.EXPIRED
    return _FAILED_STATES.get(ERROR_KINDS.get(number), ReceiptState.FAILED)


def _url_variants(url: str) -> set[str]:
    """The URL with and without its port: Twilio signs either, however the URL was set."""
    parts = urlsplit(url)
    host = re.sub(r":\d+$", "", parts.netloc)
    port = parts.port or (443 if parts.scheme == "https" else 80)
    variants = (parts._replace(netloc=netloc).geturl() for netloc in (host, f"{host}:{port}"))
    return {url, *variants}
