"""Messages, their attempts and receipts, and the provider accounts that carry them."""

from channels.models.day_counts import CountedDay, DayBreakdown, DayCount, DayTotal, StaleDay
from channels.models.delivery_drops import DeliveryDrop
from channels.models.exports import MessageExport, MessageExportPart
from channels.models.heartbeats import Heartbeat
from channels.models.messages import Attempt, FallbackEvent, Message, MessageQuerySet
from channels.models.open_messages import OpenMessage
from channels.models.provider_accounts import ProviderAccount, ProviderAlert, VendorApproval
from channels.models.receipts import Part, Receipt
from channels.models.recipients import BlockedPhone, Contact, KnownRecipient
from channels.models.routing import RememberedPhone, RouteDay, RouterState

__all__ = [
    "Attempt",
    "BlockedPhone",
    "Contact",
    "CountedDay",
    "DayBreakdown",
    "DayCount",
    "DayTotal",
    "DeliveryDrop",
    "FallbackEvent",
    "Heartbeat",
    "KnownRecipient",
    "Message",
    "MessageExport",
    "MessageExportPart",
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
