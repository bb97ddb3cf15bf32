"""The record of who agreed to what by entering a code, and when: a document with its own hash."""

import hashlib
from datetime import UTC, datetime
from typing import Any

import orjson

from accounts.models import Company
from catalogue.ids import public_id
from channels.models import Message
from channels.providers.base import Content
from otp.texts import rendering
from otp.verifications import FoundVerification

HIDDEN = "•"  # replaces each character of the code


def evidence_of(company_id: int, verification: FoundVerification) -> dict[str, Any]:
    """Returns `record`, and the `sha256` of its UTF-8 JSON with sorted names and no spaces."""
    record = {
        "verification": public_id("otp", verification.id),
        "company": Company.objects.get(pk=company_id).name,
        "test": verification.mode == "test",
        "phone": verification.phone,
        "purpose": verification.purpose,
        "state": verification.state.value,
        "bind": dict(verification.binding) if verification.binding else None,
        "reference": verification.reference or None,
        "created_at": _iso(verification.created_at),
        "expires_at": _iso(verification.expires_at),
        "verified_at": _iso(verification.verified_at),
        "attempts": verification.attempts,
        "messages": [_message_evidence(message) for message in verification.messages],
    }
    return {"record": record, "sha256": hashlib.sha256(canonical(record)).hexdigest()}


def canonical(record: dict[str, Any]) -> bytes:
    return orjson.dumps(record, option=orjson.OPT_SORT_KEYS)


def _message_evidence(message: Message) -> dict[str, Any]:
    return {
        "id": message.public_id,
        "channel": message.channel,
        "status": message.state,
        "text": _shown_text(message),
        "request_id": message.request_id or None,
        "created_at": _iso(message.created_at),
        "sent_at": _iso(message.sent_at),
        "delivered_at": _iso(message.delivered_at),
    }


def _shown_text(message: Message) -> str | None:
    """The text without its code; None if the text was erased.

    The code is not even derived: a search for it in the text could match other digits, such as an
    amount, and reveal it.
    """
    if message.content == Content.CODE_WITH_TEXT and "texts" not in message.params:
        return None
    return rendering.text_with(
        HIDDEN * message.params["length"],
        params=message.params,
        locale=message.language,
        channel=message.channel,
    )


def _iso(at: datetime | None) -> str | None:
    return at.astimezone(UTC).isoformat().replace("+00:00", "Z") if at else None
