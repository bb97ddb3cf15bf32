"""Receipts that are stored and due."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from channels.models import Attempt, Receipt
from tests.factories import ReceiptFactory


def hear(attempt: Attempt, state: str = "delivered", **fields: Any) -> Receipt:
    """A stored receipt that nobody has looked at yet."""
    known = {
        "attempt": None,
        "provider": attempt.provider,
        "provider_id": attempt.provider_id or "",
        "ref": None,
        "due_at": timezone.now() - timedelta(minutes=1),
    }
    made: Receipt = ReceiptFactory.create(**known | {"state": state, "word": state} | fields)
    return made
