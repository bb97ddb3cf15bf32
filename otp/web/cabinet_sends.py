"""Sends that a member starts in the cabinet, with the API's fields, limits, budgets and prices.

Each form carries a token. A form that is submitted twice, or again after a crash, finds the message
of its first submission.
"""

import hashlib
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

import orjson
from django.db import IntegrityError

from accounts.audit import record
from accounts.keys import api_keys
from accounts.keys.principal import Principal
from accounts.masked_phones import mask_phone
from accounts.models import Company, User
from api import idempotency
from api.authentication import check_status
from api.idempotency import IdempotencyKey, MissingResponse
from catalogue.errors import DomainError
from catalogue.ids import request_id
from channels.accept.acceptance import Sender
from channels.models import Message
from links.api.views import parse_link
from links.make.send import send_link
from otp.check.check import check_code
from otp.models import Verification
from otp.protection.requesters import Requester
from otp.send.send import send_code
from otp.web.api import parse_code

PATH = "/cabinet/send"


def _send_code(fields: Mapping[str, Any], sender: Sender, announce: Callable[[str], None]) -> UUID:
    # The protection asks a signed-in member for no proof of work.
    request = replace(parse_code(fields, sender.principal), requester=Requester(is_trusted=True))
    announce(request.phone)
    return send_code(sender=sender, request=request).outcome.message_id


def _send_link(fields: Mapping[str, Any], sender: Sender, announce: Callable[[str], None]) -> UUID:
    request = parse_link(fields, sender.principal)
    announce(request.phone)
    return send_link(sender=sender, request=request).outcome.message_id


_SEND = {Message.Kind.CODE.value: _send_code, Message.Kind.LINK.value: _send_link}


def send(
    *,
    principal: Principal,
    company: Company,
    user: User,
    kind: str,
    fields: Mapping[str, Any],
    token: str,
    ip: str | None,
) -> UUID:
    """Sends a message; returns its id, even if it failed; raises a DomainError if nothing was sent.

    `fields` are the fields of `POST /otp/send` or `POST /links/send`.
    """
    check_status(principal)
    key = _key(principal, kind, fields, token)
    if message_id := _find(key):
        return message_id

    def announce(phone: str) -> None:
        # The event precedes the send, so that no charge is without an event.
        record(
            "message.requested", f"{kind} {mask_phone(phone)}", company=company, user=user, ip=ip
        )

    try:
        return _SEND[kind](fields, Sender(principal, request_id(), key), announce)
    except (DomainError, IntegrityError):
        # The vendor has refused it, as its page explains, or the same form was faster.
        if message_id := _find(key):
            return message_id
        raise


def _key(principal: Principal, kind: str, fields: Mapping[str, Any], token: str) -> IdempotencyKey:
    """A hash of the form and its values: a corrected field makes another send."""
    canonical = orjson.dumps([token, kind, fields], option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(canonical).hexdigest()
    return idempotency.parse(principal, PATH, digest, fields)


def _find(key: IdempotencyKey) -> UUID | None:
    stored = idempotency.find_response(key)
    return stored.subject_id if isinstance(stored, MissingResponse) else None


def check(*, company: Company, verification: Verification, code: str) -> None:
    """Checks a code like `POST /otp/verify`; raises the refusal as a DomainError."""
    principal = api_keys.without_key(company, verification.mode)
    phone = verification.phone
    purpose = verification.purpose
    check_code(principal=principal, phone=phone, purpose=purpose, code=code)
