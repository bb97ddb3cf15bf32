"""People, companies, keys, sessions, the audit log, and the outbox of e-mails."""

# mypy: implicit-reexport
# ruff: noqa: F401 - what other packages import
from accounts.models.api_keys import PURPOSE_LENGTH, ApiKey
from accounts.models.companies import Company, CompanyQuerySet, GuardMode, Mode
from accounts.models.exports import CsvExport, CsvExportPart, Export
from accounts.models.people import Invitation, Member, SavedFilter
from accounts.models.records import (
    AuditEvent,
    CacheEntry,
    CompanyChange,
    JobFailure,
    Mail,
)
from accounts.models.roles import TECHNICAL_ROLES, Scope, every_scope, scopes_of_role
from accounts.models.users import User, UserSession
