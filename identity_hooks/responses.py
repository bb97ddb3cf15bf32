"""Responses to a server, and the sentences that it shows to a person."""

from collections.abc import Mapping
from typing import Any

import orjson
from django.http import HttpResponse
from django.utils.translation import gettext_lazy as _

from catalogue.errors import DomainError, Error
from catalogue.ids import public_id
from catalogue.texts import StrOrPromise
from channels.accept.outcome import SendOutcome
from channels.web.status_texts import status_text

# Errors that the person can act on. The company finds all others in its request log.
FOR_A_PERSON: dict[Error, StrOrPromise] = {
    Error.INVALID_PHONE: _("This phone number is not valid. Check the digits and country code."),
    Error.RESEND_TOO_SOON: _("A code was just sent. Wait a little before asking for another one."),
    Error.SEND_LIMIT: _("Too many codes were sent to this number. Try again later."),
    Error.TOO_MANY_ATTEMPTS: _("Too many codes were sent to this number. Try again later."),
    Error.RATE_LIMITED: _("Too many requests. Try again in a minute."),
    Error.CHALLENGE_REQUIRED: _("Too many codes were sent to this number. Try again later."),
    Error.RECIPIENT_UNREACHABLE: _("This number cannot be reached. Check it or use another one."),
    Error.COUNTRY_NOT_ALLOWED: _("Codes are not sent to this country."),
}
HELD_BACK = _("Held back by the protection against SMS pumping: cabinet, Settings → Protection")
ANYTHING_ELSE = _("The code could not be sent. Try again later.")


def as_json(status: int, body: Mapping[str, Any]) -> HttpResponse:
    return HttpResponse(orjson.dumps(body, default=str), "application/json", status)


def as_text(status: int, text: StrOrPromise) -> HttpResponse:
    return HttpResponse(text, "text/plain; charset=utf-8", status)


def for_a_person(refusal: DomainError) -> str:
    return str(FOR_A_PERSON.get(refusal.error, ANYTHING_ELSE))


def sent_sentence(outcome: SendOutcome | None) -> str:
    if outcome is None:
        return str(_("There was nothing to send."))
    return str(status_text("code", outcome.channel, outcome.state))


def sent_json(outcome: SendOutcome | None) -> HttpResponse:
    """200 with the message's id, which a server may store."""
    if outcome is None:
        return as_json(200, {"status": "ignored"})
    message_id = public_id("msg", outcome.message_id)
    return as_json(200, {"id": message_id, "status": outcome.state, "channel": outcome.channel})


def refused_json(refusal: DomainError) -> HttpResponse:
    """Our status, code and message, for servers that log the response."""
    message = refusal.message
    if refusal.error is Error.CHALLENGE_REQUIRED:  # no server shows a challenge
        message = HELD_BACK
    body = {"code": code_of(refusal), "message": str(message)}
    return with_retry(as_json(refusal.error.status, body), refusal)


def code_of(refusal: DomainError) -> str:
    """The code in the response: only the company's log says why a caller was refused."""
    if refusal.error is Error.INVALID_API_KEY:
        return refusal.error.code
    return str(getattr(refusal, "reason", refusal.error.code))


def with_retry(response: HttpResponse, refusal: DomainError) -> HttpResponse:
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    return response
