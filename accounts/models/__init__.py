"""People, companies, keys, sessions, the audit log, and the outbox of e-mails."""

from accounts.models.api_keys import PURPOSE_LENGTH, ApiKey, ApiKeyQuerySet
from accounts.models.audit import AuditEvent
from accounts.models.internal import CacheEntry, CompanyChange, JobFailure
from accounts.models.mail import Mail
from accounts.models.people import (
    Company,
    CompanyQuerySet,
    GuardMode,
    Invitation,
    InvitationQuerySet,
    Member,
    Mode,
    SavedFilter,
)
from accounts.models.roles import TECHNICAL_ROLES, Scope, every_scope, scopes_of_role
from accounts.models.users import User, UserManager, UserSession, UserSessionQuerySet

__all__ = [
    "PURPOSE_LENGTH",
    "TECHNICAL_ROLES",
    "ApiKey",
    "ApiKeyQuerySet",
    "AuditEvent",
    "CacheEntry",
    "Company",
    "CompanyChange",
    "CompanyQuerySet",
    "GuardMode",
    "Invitation",
    "InvitationQuerySet",
    "JobFailure",
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
