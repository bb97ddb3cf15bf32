"""What the groups of the provider grant: the operator's desk, and roles in companies.

Applied at every sign-in: what no group gives any longer is taken. Rights that were given here, by
an operator or an owner, are left alone.
"""

from collections.abc import Iterable

import structlog
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import transaction
from django.http import HttpRequest

from accounts.audit.events import record_authentication_event
from accounts.client_ip import address_of
from accounts.models import Company, Member, User
from accounts.people import members
from config.environment.oidc_settings import STAFF, SUPERUSER, Grant

log = structlog.get_logger(__name__)
DESK = (SUPERUSER, STAFF)


def granted_to(groups: frozenset[str]) -> list[Grant]:
    return [one for one in settings.OIDC_ROLES if one.group in groups]


@transaction.atomic
def apply(user: User, groups: frozenset[str], request: HttpRequest) -> None:
    """Give and take rights so that they are what these groups grant."""
    # The lock: of two sign-ins at a time, each gives all that it says, or none of it.
    user.refresh_from_db(from_queryset=User.objects.select_for_update(no_key=True))
    granted = granted_to(groups)
    _apply_to_desk(user, [one for one in granted if one.role in DESK], request)
    _apply_to_companies(user, [one for one in granted if one.role not in DESK], request)


def _apply_to_desk(user: User, granted: list[Grant], request: HttpRequest) -> None:
    if user.is_staff and not user.desk_from_provider:
        return  # an operator gave it
    before = _desk_rights(user)
    user.is_staff = user.desk_from_provider = bool(granted)
    user.is_superuser = any(one.role == SUPERUSER for one in granted)
    user.groups.set(_groups_of(granted))
    after = _desk_rights(user)
    if before == after:
        return
    user.save(update_fields=["is_staff", "is_superuser", "desk_from_provider"])
    record_authentication_event(
        "desk.changed", user=user, request=request, subject=f"{before} → {after}"
    )


def _groups_of(granted: list[Grant]) -> Iterable[Group]:
    return Group.objects.filter(name__in=[one.target for one in granted if one.target])


def _desk_rights(user: User) -> str:
    if not user.is_staff:
        return "—"
    names = user.groups.order_by("name").values_list("name", flat=True)
    return ", ".join([SUPERUSER if user.is_superuser else STAFF, *names])


def _apply_to_companies(user: User, granted: list[Grant], request: HttpRequest) -> None:
    roles: dict[int, str] = {}
    for one in granted:
        roles.setdefault(int(one.target), one.role)  # the first of a company counts
    given = user.memberships.filter(from_provider=True).select_related("company")
    for member in given.exclude(company__in=roles):
        members.withdraw(member=member, ip=address_of(request))
    for company in Company.objects.filter(pk__in=roles).order_by("pk"):
        role = Member.Role(roles[company.pk])
        members.grant(company=company, user=user, role=role, ip=address_of(request))
