"""The events of the balance. `billing.notifications` writes them."""

from datetime import datetime
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field, integer
from accounts.models import EventKind, Scope
from accounts.webhooks.event_declarations import EventDeclaration, iso
from billing.web.calls import ORDER


def _low_balance_example(_kind: EventKind, _subject: str, _now: datetime) -> dict[str, Any]:
    return {"available": 96, "threshold": 100}


def _top_up_example(_kind: EventKind, subject: str, now: datetime) -> dict[str, Any]:
    return {
        "id": f"top_{subject}",
        "status": "paid",
        "tokens": 1000,
        "amount": "1000.00",
        "currency": "RUB",
        "paid_at": iso(now),
    }


BALANCE_EVENT = EventDeclaration(
    "BalanceEvent",
    {EventKind.BALANCE_LOW: _("The balance fell below the threshold set in the settings.")},
    (
        Field("available", integer(0), _("Tokens available to spend when the event was created.")),
        Field("threshold", integer(0), _("The threshold set in the settings, in tokens.")),
    ),
    _low_balance_example,
    Scope.BALANCE,
)
TOP_UP_EVENT = EventDeclaration(
    "TopUpEvent",
    {EventKind.TOP_UP_PAID: _("A top-up was paid and its tokens were credited.")},
    tuple(
        field
        for field in ORDER
        if field.name in {"id", "status", "tokens", "amount", "currency", "paid_at"}
    ),
    _top_up_example,
    Scope.BALANCE,
)
