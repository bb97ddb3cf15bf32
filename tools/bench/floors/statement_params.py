"""Parameters for the product's own statements, built without the work before them."""

import os
from secrets import token_urlsafe
from typing import Any

from django.conf import settings

from billing.budgets import budgets
from billing.models import Budget
from config.ids import uuid7
from config.storage.statements.array_text import array_text
from links import sql as links_sql
from links.models import INSERTED_COLUMNS, Link
from otp import sql

SEND = sql.recent(sql.send(is_test=False, has_link=False, has_key=False))
CHECK = sql.recent(sql.CHECK_CODE)
_MAC = bytes(32)
_LINK = {name: getattr(Link(), name) for name in INSERTED_COLUMNS}

# As `seed.lift_budgets` leaves them: a fast machine sends more than the usual ones allow.
_LIFTED = dict.fromkeys((Budget.DAY, Budget.ANY, "RU"), (settings.MAX_BUDGET, None))


def params(company_id: int, key_id: int, phone: str) -> dict[str, Any]:
    """For `SEND`: a code by WhatsApp, whose code nobody works out."""
    message_id = uuid7()
    (failed_hour, _), (failed_day, _) = settings.WRONG_CODE_LIMITS
    return {
        "message_id": message_id,
        "company_id": company_id,
        "api_key_id": key_id,
        "mode": "live",
        "kind": "code",
        "content": "code",
        "channel": "whatsapp",
        "chain": "[]",
        "phone": phone,
        "locale": "ru",
        "request_id": "req_" + os.urandom(10).hex(),
        "price": settings.PRICES["whatsapp"],
        "segments": 1,
        "priority": 0,
        "patience": None,
        "hold_seconds": settings.HOLD_DEADLINE["code"],
        **budgets.params(_LIFTED, "RU"),
        "verification_id": uuid7(),
        "purpose": "verification",
        "mac": _MAC,
        "key_id": "1",
        "key_ids": array_text(["1"]),
        "length": 6,
        "max_attempts": settings.CODE_ATTEMPTS,
        "lifetime": settings.CODE_LIFETIME,
        "least_use": 0,
        "resend_margin": settings.RESEND_MARGIN,
        "failed_hour": failed_hour,
        "failed_day": failed_day,
        "params": '{"brand": "Company"}',
    }


def check(company_id: int, phone: str) -> dict[str, Any]:
    """For `CHECK`: the right code of what `params` sent."""
    sent = params(company_id, 0, phone)
    names = ("company_id", "mode", "phone", "purpose", "failed_hour", "failed_day")
    return {name: sent[name] for name in names} | {"macs": array_text([_MAC])}


def link(company_id: int, url: str) -> dict[str, Any]:
    """For `links.sql.SHORTEN`."""
    slug = token_urlsafe(6)
    own = {"id": uuid7(), "company_id": company_id, "mode": "live", "slug": slug, "key": slug}
    return links_sql.params(_LINK | own | {"url": url}, lifetime=None)
