"""The calls of Prelude: verification, check, feedback, number lookup."""

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from dataclasses import replace
from typing import Any
from uuid import UUID

from django.http import HttpRequest, HttpResponse
from django.urls import path

from api.request_body import json_object
from catalogue.channels import BY_NAME, CHANNELS
from catalogue.errors import AfterEffectError, DomainError, Error
from catalogue.ids import public_id, uuid7
from channels.guard.scope_evidence import ScopeKind
from channels.phone_numbers import LineType, is_landline
from channels.recipients.blocked_phones import BlockedPhoneError
from channels.routing.company_policy import NO_ORDER, RequestedOrder, policy_for
from channels.routing.lookup import look_up
from compat.dialect import limit_of
from compat.fields import values
from compat.prelude import fields
from compat.prelude.dialect import DIALECT, refusal_of
from compat.view import CompatView
from otp.feedback import report_entered
from otp.protection import send_check
from otp.protection.send_check import Restricted
from otp.send.code_request import CodeSendRequest
from otp.send.send import SentCode
from otp.verifications import FoundVerification, newest_to_phone
from storage.heavy_work import HeavyWork
from webhooks.endpoints import find_callback

PHONE_LIMITS = {"phone", "phone_all_companies"}  # kinds of `send_limit`
# The guard's kinds of scope, as Prelude's risk factors.
FACTORS: dict[str, str] = {
    ScopeKind.COUNTRY: "poor_conversion_history",
    ScopeKind.IP: "ip_concentration",
    ScopeKind.DEVICE: "device_reuse",
}
CHECK_STATUS = {
    Error.CODE_INVALID: "failure",
    Error.CODE_EXPIRED: "expired_or_not_found",
    Error.CODE_USED: "expired_or_not_found",
    Error.CODE_NOT_FOUND: "expired_or_not_found",
    Error.BINDING_MISMATCH: "transaction_mismatch",
}
LINES = {
    LineType.MOBILE: "mobile",
    LineType.LANDLINE: "fixed_line",
    LineType.VOIP: "voip",
    LineType.TOLL_FREE: "toll_free",
    LineType.PAGER: "pager",
    LineType.UAN: "universal_access",
    LineType.VOICEMAIL: "voice_mail",
}


class PreludeView(CompatView):
    dialect = DIALECT

    def respond_filled(self, **body: Any) -> HttpResponse:
        """The response without empty fields: Prelude's optional fields are absent, not null."""
        filled = {name: value for name, value in body.items() if value}
        return self.respond(filled | {"request_id": self.request_id})


class Verifications(PreludeView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Starts a verification, or retries the one whose code can still be entered."""
        body = json_object(request)
        options = fields.options_of(body, self.principal.texts)
        code_request = self._send_request(body, options)
        restricted = send_check.restriction_for(
            self.principal, code_request.phone, code_request.requester
        )
        try:
            sent_code = self._send_code(code_request, options["preferred_channel"], restricted)
        except DomainError as error:
            if (response := self._refusal_response(error, code_request, restricted)) is not None:
                return response
            raise
        if sent_code.is_repeat and (live := self.find_live(code_request.phone)):
            return self._under_way(live)
        status = "retry" if sent_code.is_resend else "success"
        judged = {}
        is_sms = BY_NAME[sent_code.outcome.channel].has_segments  # the only channel that was left
        if options["force_challenge"] or (restricted and restricted.is_without_sms and not is_sms):
            status = "challenged"
        elif restricted and not restricted.is_enforced:
            status = "shadow_blocked"
            judged = {"reason": "suspicious", "risk_factors": _factors(restricted)}
        names = fields.named_channels([sent_code.outcome.channel])
        return self._respond(
            sent_code.verification_id, status, code_request.reference, channels=names, **judged
        )

    def _send_code(
        self, code_request: CodeSendRequest, preferred: str | None, restricted: Restricted | None
    ) -> SentCode:
        """Sends the code; during the cool-down only by the preferred channel.

        That channel is exempt from the cool-down if it is untried. Otherwise our own code is
        refused, and a custom one gets its earlier message as the response.
        """
        try:
            sent_code = self.send(code_request)
        except DomainError as error:
            if error.error is Error.RESEND_TOO_SOON and (
                again := self._sent_by_preferred(code_request, preferred, restricted)
            ):
                return again
            raise
        if not sent_code.is_repeat:
            return sent_code
        return self._sent_by_preferred(code_request, preferred, restricted) or sent_code

    def _sent_by_preferred(
        self, code_request: CodeSendRequest, preferred: str | None, restricted: Restricted | None
    ) -> SentCode | None:
        """Sends the code by the preferred channel only.

        None if the other options or the protection leave the channel out, or it cannot take this
        send now: it is passed over, as in the first send.
        """
        if preferred not in code_request.order.channels:
            return None
        if restricted and restricted.is_without_sms and BY_NAME[preferred].has_segments:
            return None
        try:
            return self.send(replace(code_request, channel=preferred, order=NO_ORDER))
        except AfterEffectError:
            raise
        except DomainError:
            return None

    def _send_request(self, body: Mapping[str, Any], options: Mapping[str, Any]) -> CodeSendRequest:
        reference = fields.reference_of(body)
        requester = fields.signals_of(body, self.principal.company_id)
        phone = self.number(fields.target_of(body))
        order = self._order(phone, options)
        url = options["callback_url"]
        principal = self.principal
        try:
            callback = find_callback(principal.company_id, principal.mode, url) if url else None
        except DomainError:
            raise refusal_of("invalid_callback_url") from None
        return self.code_request(
            phone,
            options["locale"],
            requester=requester,
            order=RequestedOrder(order),
            code_length=options["code_size"],
            binding=options["payment"],
            reference=reference,
            custom_code=options["custom_code"],
            callback=callback,
        )

    def _order(self, phone: str, options: Mapping[str, Any]) -> tuple[str, ...]:
        """The channels to try; empty: the company's rules or smart routing decide."""
        requested = options["channels"]
        preferred = options["preferred_channel"]
        is_challenged = options["force_challenge"]
        max_fallbacks = options["max_auto_fallbacks"]
        if not (requested or preferred or is_challenged or max_fallbacks is not None):
            return ()
        policy = policy_for(self.principal, phone, self.principal.purpose)
        first = [channel.name for channel in policy.order[:1]]
        company_chain = policy.fallback.chain if policy.fallback else first
        names = [
            name
            for name in dict.fromkeys(requested or (preferred, *company_chain))
            if name in BY_NAME
        ]
        if is_challenged:
            safe = [channel.name for channel in CHANNELS if not channel.has_segments]
            names = [name for name in names if name in safe] or safe
        if not names or any(name not in BY_NAME for name in requested):
            raise refusal_of("channel_not_enabled_in_region")
        return tuple(names if max_fallbacks is None else names[: max_fallbacks + 1])

    def _refusal_response(
        self, error: DomainError, code_request: CodeSendRequest, restricted: Restricted | None
    ) -> HttpResponse | None:
        """The response to a refused send; None for other errors.

        It is about the earlier message, for a retry during the cool-down, or says that the send was
        blocked.
        """
        if live := self.live_despite_cool_down(code_request, error.error, error.retry_after):
            return self._under_way(live)
        reason, factors = _block_reasons(error, code_request.phone, restricted)
        if not reason:
            return None
        judged = {"reason": reason, "risk_factors": factors}
        return self._respond(uuid7(), "blocked", code_request.reference, **judged)

    def _under_way(self, live: FoundVerification) -> HttpResponse:
        names = fields.named_channels(message.channel for message in live.messages[-1:])
        return self._respond(live.id, "retry", live.reference, channels=names)

    def _respond(self, pk: UUID, status: str, reference: str, **more: Any) -> HttpResponse:
        identity = _identity(pk, reference)
        return self.respond_filled(**identity, method="message", status=status, **more)


class Checks(PreludeView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Checks a code; the result is in `status`: a wrong code is not an HTTP error."""
        body = json_object(request)
        code = values(body, fields.CHECK)["code"]
        payment = fields.payment_of(body, "psd2")
        phone = self.number(fields.target_of(body))
        live = self.find_live(phone)
        identity = _identity(live.id, live.reference) if live else {}
        try:
            self.check(code, phone=phone, binding=payment if live and live.binding else None)
            status = "success"
        except DomainError as error:
            if error.error not in CHECK_STATUS:
                raise
            status = CHECK_STATUS[error.error]
            if status == "transaction_mismatch" and payment is None:
                status = "transaction_missing"
        return self.respond_filled(status=status, **identity)


class Lookup(PreludeView):
    def get(self, _request: HttpRequest, phone: str) -> HttpResponse:
        phone_info = look_up(self.principal, self.number(phone), self.principal.purpose)
        line = LINES.get(phone_info.type, "unknown")
        return self.respond_filled(
            phone_number=phone_info.phone, country_code=phone_info.country, line_type=line
        )


FEW = 5  # feedbacks; so few cost no more than other calls
REPORTING = HeavyWork("feedback of Prelude's clients", limit=1)  # a hundred: 0.4 s


class Feedback(PreludeView):
    def post(self, request: HttpRequest) -> HttpResponse:
        """Records custom codes that the company saw entered.

        Feedback about started verifications, and about codes that are checked here, adds nothing.
        """
        feedbacks = list(fields.feedbacks_of(json_object(request)))
        is_few = len(feedbacks) <= FEW
        with nullcontext() if is_few else REPORTING.turn(self.principal.company_id):
            for phone, kind, reference in feedbacks:
                number = self.number(phone)
                if kind == fields.COMPLETED:
                    self._report(number, reference)
        return self.respond_filled(status="success")

    def _report(self, phone: str, reference: str) -> None:
        if verification_id := newest_to_phone(self.principal, phone, reference):
            with suppress(DomainError):
                report_entered(self.principal, verification_id=verification_id)


def _identity(verification_id: UUID, reference: str) -> dict[str, Any]:
    metadata = {"correlation_id": reference} if reference else {}
    return {"id": public_id("vrf", verification_id), "metadata": metadata}


def _factors(restricted: Restricted | None) -> list[str]:
    return [FACTORS.get(restricted.restriction.kind, "number_range_abuse")] if restricted else []


def _block_reasons(
    error: DomainError, phone: str, restricted: Restricted | None
) -> tuple[str, list[str]]:
    """Reason and risk factors of a send that Prelude calls blocked; empty for other errors."""
    kind = limit_of(error)
    if error.error is Error.CHALLENGE_REQUIRED or kind == "guard":
        return "suspicious", _factors(restricted)
    if error.error is Error.TOO_MANY_ATTEMPTS or kind in PHONE_LIMITS:
        return "repeated_attempts", ["repeated_attempts"]
    if isinstance(error, BlockedPhoneError):
        return "in_block_list", []
    if error.error is Error.RECIPIENT_UNREACHABLE and is_landline(phone):
        return "invalid_phone_line", []
    return "", []


urlpatterns = [
    path("v2/verification", Verifications.as_view()),
    path("v2/verification/check", Checks.as_view()),
    path("v2/lookup/<phone>", Lookup.as_view()),
    path("v2/watch/feedback", Feedback.as_view()),
]
