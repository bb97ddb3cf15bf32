"""Messages, their attempts and receipts, and the provider accounts that carry them."""

from channels.models.background import Heartbeat
from channels.models.day_counts import (
    CountedDay,
    DayBreakdown,
    DayCount,
    DeliveryDrop,
    StaleDay,
)
from channels.models.messages import (
    Attempt,
    FallbackEvent,
    Message,
    MessageQuerySet,
    OpenMessage,
    Part,
    Receipt,
)
from channels.models.provider_accounts import ProviderAccount, ProviderAlert, VendorApproval
from channels.models.recipients import BlockedPhone, Contact, KnownRecipient
from channels.models.routing import RememberedPhone, RouteDay, RouterState

__all__ = [
    "Attempt",
    "BlockedPhone",
    "Contact",
    "CountedDay",
    "DayBreakdown",
    "DayCount",
    "DeliveryDrop",
    "FallbackEvent",
    "Heartbeat",
    "KnownRecipient",
    "Message",
    "MessageQuerySet",
    "OpenMessage",
    "Part",
    "ProviderAccount",
    "ProviderAlert",
    "Receipt",
    "RememberedPhone",
    "RouteDay",
    "RouterState",
    "StaleDay",
    "VendorApproval",
]
