"""People, companies, keys, sessions, the audit log, and the outboxes of events and mail."""

from accounts.models.api_keys import ApiKey, ApiKeyQuerySet
from accounts.models.audit import AuditEvent
from accounts.models.internal import CacheEntry, CompanyChange, JobFailure
from accounts.models.outbox import (
    Delivery,
    DeliveryAttempt,
    Endpoint,
    EndpointQuerySet,
    Event,
    EventKind,
    Mail,
)
from accounts.models.people import (
    Company,
    CompanyQuerySet,
    GuardMode,
    Invitation,
    InvitationQuerySet,
    Member,
    Mode,
    SavedFilter,
    Scope,
    every_scope,
    scopes_of_role,
)
from accounts.models.requests import ApiRequest, IdempotencyQuerySet, IdempotentRequest
from accounts.models.users import Language, User, UserManager, UserSession, UserSessionQuerySet

__all__ = [
    "ApiKey",
    "ApiKeyQuerySet",
    "ApiRequest",
    "AuditEvent",
    "CacheEntry",
    "Company",
    "CompanyChange",
    "CompanyQuerySet",
    "Delivery",
    "DeliveryAttempt",
    "Endpoint",
    "EndpointQuerySet",
    "Event",
    "EventKind",
    "GuardMode",
    "IdempotencyQuerySet",
    "IdempotentRequest",
    "Invitation",
    "InvitationQuerySet",
    "JobFailure",
    "Language",
    "Mail",
    "Member",
    "Mode",
    "SavedFilter",
    "Scope",
    "User",
    "UserManager",
    "UserSession",
    "UserSessionQuerySet",
    "every_scope",
    "scopes_of_role",
]
