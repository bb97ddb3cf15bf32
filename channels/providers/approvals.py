"""What a vendor has to approve before it may be used: templates, senders, campaigns."""

from dataclasses import dataclass
from enum import StrEnum


class ApprovalKind(StrEnum):
    TEMPLATE = "template"
    SENDER = "sender"
    CAMPAIGN = "campaign"  # A2P 10DLC: what US carriers let a messaging service send


class ApprovalStatus(StrEnum):
    APPROVED = "approved"
    PENDING = "pending"
    REJECTED = "rejected"
    PAUSED = "paused"
    DISABLED = "disabled"
    MISSING = "missing"  # the account uses a name that the vendor does not list


@dataclass(frozen=True, slots=True)
class Approval:
    kind: ApprovalKind
    name: str
    status: ApprovalStatus
    language: str = ""
    word: str = ""  # the vendor's own
    quality: str = ""
    reason: str = ""
    is_used: bool = True  # by this account
