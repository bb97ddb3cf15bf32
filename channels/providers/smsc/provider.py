"""SMSC (smsc.ru, smsc.kz and the companies that resell it): SMS.

https://smsc.ru/api/http/
"""

import hashlib
import re
import time
from collections.abc import Collection, Iterator
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

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
    WebhookRequest,
)

_MAX_ID = 2**31 - 1
_MAX_VALIDITY = 24 * 60  # minutes
_REPEATED = 9
_NOT_FOUND = 3
_REPEAT_WINDOW = 60.0  # seconds
_DENIED = 6  # "for its text or its sender's name"; the text seldom says which
_OF_SENDER = re.compile(r"sender|отправител", re.I)
_OF_TEXT = re.compile(r"\btext|текст", re.I)
_SENDER_CACHE_SECONDS = 300.0
_NO_MONEY = "24"
# https://smsc.ru/api/http/send/errors/ (28 November 2026); codes 6 and 9 depend on more.
_ERROR_KINDS: dict[int, http.ErrorKind] = {
    **dict.fromkeys((1, 5), http.REFUSED),
    **dict.fromkeys((2, 3), http.ACCOUNT_REFUSED),
    4: http.ACCOUNT_THROTTLED,
    **dict.fromkeys((7, 8), http.UNREACHABLE),
}
# https://smsc.ru/api/http/status_messages/statuses/ (28 November 2026).
# -2, "stopped", is left out: it may still be resumed.
_STATES = {
    "0": ReceiptState.SENT,
    "1": ReceiptState.DELIVERED,
    "2": ReceiptState.READ,
    "3": ReceiptState.EXPIRED,
    "4": ReceiptState.DELIVERED,  # and the link in it was followed
    **dict.fromkeys(("20", "22", "25"), ReceiptState.UNREACHABLE),
    **dict.fromkeys(("23", "24"), ReceiptState.FAILED),
}
# Only polls return these, never reports: waiting to be sent, and unknown.
_POLL_STATES = _STATES | {"-1": ReceiptState.SENT, "-3": ReceiptState.NOT_FOUND}


class Smsc(http.HttpProvider):
    name = "smsc"
    channel = "sms"
    content_type = "application/x-www-form-urlencoded"
    capabilities = Capabilities(frozenset(Content), receipts=True, pollable=True)

    def __init__(
        self,
        *,
        login: str,
        password: str,
        sender: str,
        callback_secret: str,
        barred_errors: Collection[str] = (),
        **connection: Any,
    ) -> None:
        super().__init__(token=password, **connection)
        account = {"login": login, "psw": password} if login else {"apikey": password}
        self._account = account | {"fmt": "3", "charset": "utf-8"}
        self._sender = {"sender": sender} if sender else {}
        self._sender_asked_at = -_SENDER_CACHE_SECONDS
        self._is_sender_refused = False
        self._secret = callback_secret
        self._barred_errors = frozenset(barred_errors)

    def send(self, message: Outgoing) -> Accepted:
        self._check(message)
        response = self._post(
            "/sys/send.php",
            self._form_body(
                **self._sender,
                phones=message.phone,  # its plus keeps SMSC from correcting the number
                mes=message.text,
                id=_numeric_id(message.message_id),
                valid=_validity(message.ttl),
            ),
        )
        message_number = http.text(response.data.get("id"))
        if response.status >= 300 or message_number is None or "error_code" in response.data:
            raise self._denied_error(response) or self._refusal(response, message.n)
        return Accepted(_provider_id(message.phone, message_number))

    def _denied_error(self, response: http.VendorResponse) -> SendError | None:
        """The error of code 6: a refused sender is the account's fault, a refused text is not."""
        code = response.data.get("error_code")
        detail = response.data.get("error")
        if code != _DENIED:
            return None
        text = http.text(detail) or ""
        is_of_sender = bool(_OF_SENDER.search(text))
        if is_of_sender == bool(_OF_TEXT.search(text)):  # both, or neither
            is_of_sender = self._is_sender_unapproved()
        return response.error(http.ACCOUNT_REFUSED if is_of_sender else http.REFUSED, code, detail)

    def _is_sender_unapproved(self) -> bool:
        """Whether SMSC lists our sender as not approved; cached."""
        if not self._sender:
            return False
        if time.monotonic() - self._sender_asked_at >= _SENDER_CACHE_SECONDS:
            try:
                approved = self.approved_senders()
            except SendError:
                return False
            self._sender_asked_at = time.monotonic()
            self._is_sender_refused = self._sender["sender"] not in approved
        return self._is_sender_refused

    def approved_senders(self) -> set[str]:
        response = self._query("/sys/senders.php", self._form_body(get="1"))
        if response.status >= 300 or response.rows is None:  # an error is an object
            raise self._refusal(response)
        return {name for row in response.rows if (name := http.text(row.get("sender")))}

    def approvals(self) -> list[Approval]:
        """The sender names that SMSC's moderators have approved; it lists no others."""
        sender = self._sender.get("sender", "")
        approved = self.approved_senders()
        approvals = [
            Approval(ApprovalKind.SENDER, name, ApprovalStatus.APPROVED, is_used=name == sender)
            for name in sorted(approved)
        ]
        if sender and sender not in approved:
            approvals.append(Approval(ApprovalKind.SENDER, sender, ApprovalStatus.MISSING))
        return approvals

    def provider_id_of(self, message_id: str, phone: str) -> str:
        return _provider_id(phone, _numeric_id(message_id))

    def check(self) -> None:
        list(self._balance())  # raises the error of an account that cannot read it

    def more_checks(self, requirements: AccountRequirements) -> list[Check]:
        return [
            *http.run_check("balance", self._balance),
            *http.run_check("sender", self._approval),
            Check("callback_secret", bool(self._secret)),
        ]

    def _balance(self) -> Iterator[Check]:
        response = self._query("/sys/balance.php", self._form_body(cur="1"))
        if response.status >= 300 or "balance" not in response.data:
            raise self._refusal(response)
        balance = http.text(response.data["balance"]) or ""
        detail = f"{balance} {http.text(response.data.get('currency')) or ''}".strip()
        yield Check("balance", http.is_positive(balance), detail)

    def _approval(self) -> Iterator[Check]:
        if not self._sender:
            yield Check("sender", None)
            return
        name = self._sender["sender"]
        yield Check("sender", name in self.approved_senders(), name)

    def parse_webhook(self, call: WebhookRequest) -> InboundEvents:
        # Only these three fields are signed, so no other field may affect the message.
        number, phone, status, error = self._signed_fields(call.body)
        if status not in _STATES:
            return InboundEvents(call.body)
        return self.events_of(call.body, self._receipt(_provider_id(phone, number), status, error))

    def _signed_fields(self, body: bytes) -> tuple[str, str, str, str]:
        # Sender names and incoming texts may have any charset and are not read.
        fields = http.parse_form(body, encoding="latin-1", is_strict=False)
        number, phone, status = (fields.get(name, "") for name in ("id", "phone", "status"))
        signed = f"{number}:{phone}:{status}:{self._secret}".encode()
        expected = {
            "md5": hashlib.md5(signed, usedforsecurity=False).hexdigest(),
            "sha1": hashlib.sha1(signed, usedforsecurity=False).hexdigest(),
        }
        # The handler's URL asks for one signature or both; each given one must match.
        present = fields.keys() & expected.keys()
        if not (self._secret and present):
            raise InvalidWebhookError("there is no signature")
        if not all(http.constant_time_equal(fields[name], expected[name]) for name in present):
            raise InvalidWebhookError("the signature does not match")
        return number, phone, status, fields.get("err", "")

    def alert_of(self, receipt: Receipt) -> AccountAlert | None:
        is_empty = receipt.error_code == _NO_MONEY
        return AccountAlert(_NO_MONEY, "no money", AlertKind.REFUSED) if is_empty else None

    def poll(self, provider_id: str) -> Receipt | None:
        phone, _, number = provider_id.rpartition(":")
        message = self._poll("/sys/status.php", self._form_body(phone=phone, id=number))
        # For one unknown message SMSC returns error 3; among several, status -3.
        is_unknown = message.get("error_code") == _NOT_FOUND
        status = "-3" if is_unknown else http.text(message.get("status"))
        if status not in _POLL_STATES:
            return None
        error = http.text_of(message, "err")
        return self._receipt(provider_id, status, error, message.get("last_timestamp"))

    def _receipt(self, provider_id: str, status: str, error: str, at: object = None) -> Receipt:
        """Reads a receipt. `err` explains a failure, never a delivery."""
        receipt = _receipt(provider_id, status, at)
        if receipt.state is ReceiptState.UNREACHABLE and error in self._barred_errors:
            return replace(receipt, state=ReceiptState.BARRED, error_code=f"{status}/{error}")
        return receipt

    def _form_body(self, **fields: str) -> bytes:
        return urlencode(self._account | fields).encode()

    def _refusal(self, response: http.VendorResponse, n: int = 1) -> SendError:
        """The error of a refused send; `n` is the number of the attempt."""
        code = response.data.get("error_code")
        detail = response.data.get("error")
        if code == _REPEATED and n > 1:
            # "The same request within a minute": an earlier attempt may be that request.
            return response.error(http.AMBIGUOUS, code, detail)
        if code == _REPEATED:  # a resend of the same code, for example: only this message waits
            return response.error(http.THROTTLED, code, detail, retry_after=_REPEAT_WINDOW)
        return response.error_of(_ERROR_KINDS, code, detail)


def _receipt(provider_id: str, status: str, at: object = None) -> Receipt:
    state = _POLL_STATES[status]
    is_good = state in {ReceiptState.SENT, ReceiptState.DELIVERED, ReceiptState.READ}
    return Receipt(
        provider_id=provider_id,
        ref=None,
        state=state,
        vendor_status=status,
        at=http.from_timestamp(at) if at else None,
        error_code=None if is_good else status,
    )


def _numeric_id(message_id: str) -> str:
    """The message's id at SMSC, unique for its phone: a number of 31 bits that we choose."""
    digest = hashlib.sha256(message_id.encode()).digest()
    return str(int.from_bytes(digest[:8]) % _MAX_ID + 1)


def _provider_id(phone: str, number: str) -> str:
    return f"{phone.removeprefix('+')}:{number}"


def _validity(seconds: int) -> str:
    """Validity as hours and minutes; SMSC accepts 00:01 to 24:00."""
    minutes = min(max(seconds // 60, 1), _MAX_VALIDITY)
    return f"{minutes // 60:02}:{minutes % 60:02}"
