"""Identifies the caller; checks that the key's scope, IP addresses and company allow the call."""

from collections.abc import Mapping
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts.keys import api_keys
from accounts.keys.principal import COMPANY_DELETED, Principal
from accounts.models import Company, Scope
from catalogue.errors import DomainError, Error
from processes.server.client_ip import client_ip

NO_SCOPE = _("This key lacks the required scope")
FOR_CLIENTS = _("This key is for another service's client and works only under that client's path")
NOT_FOR_CLIENTS = _(
    "This is a key for this API. For another service's client, create one in the cabinet, API keys"
)
WRONG_IP = _("Requests from this IP are not allowed")
SUSPENDED = _("The company is suspended")
DELETED = _("The company is deleted")
NOT_APPROVED = _("Live keys work once the company is approved; test keys work now")


def identify(meta: Mapping[str, Any], scope: Scope | None = None) -> Principal:
    """Authenticates from the headers; raises DomainError when access is refused."""
    scheme, _space, key = meta.get("HTTP_AUTHORIZATION", "").strip().partition(" ")
    principal = api_keys.find(key.strip()) if scheme.lower() == "bearer" else None
    return authorize(principal, meta, scope)


def authorize(
    principal: Principal | None, meta: Mapping[str, Any], scope: Scope | None = None
) -> Principal:
    """The principal, if it may use the API from this address with this scope."""
    if principal is None:
        raise DomainError(Error.INVALID_API_KEY)
    if principal.purpose and scope is not Scope.VERIFY:
        raise DomainError(Error.FORBIDDEN, message=FOR_CLIENTS)
    if scope is not None and scope.value not in principal.scopes:
        message = NOT_FOR_CLIENTS if scope is Scope.VERIFY else NO_SCOPE
        raise DomainError(Error.FORBIDDEN, message=message)
    if principal.allowed_ips and not principal.allows_ip(client_ip(meta)):
        raise DomainError(Error.FORBIDDEN, message=WRONG_IP)
    check_status(principal)
    return principal


def check_status(principal: Principal) -> None:
    """Raises if the company may not send in this mode."""
    if principal.company_status == COMPANY_DELETED:
        raise DomainError(Error.FORBIDDEN, message=DELETED)
    if principal.company_status == Company.Status.SUSPENDED:
        raise DomainError(Error.FORBIDDEN, message=SUSPENDED)
    if principal.company_status == Company.Status.PENDING and not principal.is_test:
        raise DomainError(Error.FORBIDDEN, message=NOT_APPROVED)
