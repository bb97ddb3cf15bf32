"""Identities at the provider, and the users that they sign in.

An identity is an issuer and a `sub`, never an e-mail address: the address of an existing user, even
a confirmed one, opens nothing until that user connects the identity while signed in. An unconfirmed
address belongs to nobody: the person whom the provider vouches for gets it with a new account, and
so takes over nothing that a stranger prepared under it.

Operator rights and company roles that the provider's groups grant are applied at every sign-in:
rights that no group grants any longer are withdrawn. Rights that an operator or an owner granted
here stay.
"""

from collections.abc import Iterable
from uuid import uuid4

import structlog
from allauth.account.models import EmailAddress
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import IntegrityError, transaction
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.translation import get_language

from accounts.audit import record_authentication_event
from accounts.models import Company, Member, User
from accounts.oidc import tokens
from accounts.oidc.grants import STAFF, SUPERUSER, Grant
from accounts.oidc.refusals import Reason, RefusedError
from accounts.oidc.tokens import Claims
from accounts.people import members
from accounts.security import notifications, sessions
from accounts.sign_in.addresses import is_of, is_same
from processes.server.client_ip import address_of

log = structlog.get_logger(__name__)
OPERATOR_ROLES = (SUPERUSER, STAFF)


def granted_to(groups: frozenset[str]) -> list[Grant]:
    return [grant for grant in settings.OIDC_ROLES if grant.group in groups]


@transaction.atomic
def apply_grants(user: User, groups: frozenset[str], request: HttpRequest) -> None:
    """Grants and withdraws rights to match these groups."""
    # The lock: concurrent sign-ins apply their groups one after the other.
    user.refresh_from_db(from_queryset=User.objects.select_for_update(no_key=True))
    granted = granted_to(groups)
    _apply_operator_rights(
        user, [grant for grant in granted if grant.role in OPERATOR_ROLES], request
    )
    _apply_to_companies(
        user, [grant for grant in granted if grant.role not in OPERATOR_ROLES], request
    )


def _apply_operator_rights(user: User, granted: list[Grant], request: HttpRequest) -> None:
    if user.is_staff and not user.is_staff_from_provider:
        return  # an operator granted the rights
    before = _operator_rights(user)
    user.is_staff = user.is_staff_from_provider = bool(granted)
    user.is_superuser = any(grant.role == SUPERUSER for grant in granted)
    user.groups.set(_groups_of(granted))
    after = _operator_rights(user)
    if before == after:
        return
    user.save(update_fields=["is_staff", "is_superuser", "is_staff_from_provider"])
    record_authentication_event(
        "operator.changed", user=user, request=request, subject=f"{before} → {after}"
    )


def _groups_of(granted: list[Grant]) -> Iterable[Group]:
    return Group.objects.filter(name__in=[grant.target for grant in granted if grant.target])


def _operator_rights(user: User) -> str:
    if not user.is_staff:
        return "—"
    names = user.groups.order_by("name").values_list("name", flat=True)
    return ", ".join([SUPERUSER if user.is_superuser else STAFF, *names])


def _apply_to_companies(user: User, granted: list[Grant], request: HttpRequest) -> None:
    roles: dict[int, str] = {}
    for grant in granted:
        roles.setdefault(int(grant.target), grant.role)  # a company's first grant counts
    roles_given = user.memberships.filter(from_provider=True).select_related("company")
    for member in roles_given.exclude(company__in=roles):
        members.withdraw(member=member, ip=address_of(request))
    for company in Company.objects.filter(pk__in=roles).order_by("pk"):
        role = Member.Role(roles[company.pk])
        members.grant(company=company, user=user, role=role, ip=address_of(request))


def find(claims: Claims) -> User | None:
    rows = SocialAccount.objects.select_related("user")
    account = rows.filter(provider=settings.OIDC_ISSUER, uid=claims["sub"]).first()
    return account.user if account else None


def find_or_create(claims: Claims, request: HttpRequest) -> User:
    """The user of the identity; a new one if the identity's groups grant a right.

    Raises RefusedError otherwise.
    """
    user = find(claims)
    if user is None:
        _require_creatable(claims)
        try:
            user = _create(claims, request)
        except IntegrityError as error:  # a parallel sign-in created it
            raise RefusedError(Reason.EXPIRED, "created in parallel") from error
    return user


def _require_creatable(claims: Claims) -> None:
    address = tokens.email(claims)
    is_verified = tokens.is_email_verified(claims)
    if address and is_verified and _is_taken(address):
        raise RefusedError(Reason.ADDRESS_TAKEN)
    if not granted_to(tokens.groups(claims)):
        raise RefusedError(Reason.NO_ACCOUNT)
    if not (address and is_verified):
        raise RefusedError(Reason.ADDRESS_UNVERIFIED)


def _is_taken(address: str) -> bool:
    """Whether a user confirmed the address, or got it from an operator."""
    if EmailAddress.objects.filter(is_of(address), verified=True).exists():
        return True
    owners = User.objects.filter(is_of(address))
    return owners.exclude(pk__in=_unconfirmed(address).values("user")).exists()


def _unconfirmed(address: str) -> QuerySet[EmailAddress]:
    """The unconfirmed rows of an address, without operators' rows, which may be set by hand."""
    return EmailAddress.objects.filter(is_of(address), verified=False, user__is_staff=False)


def _release(address: str, request: HttpRequest) -> None:
    """Takes the address away from users who entered it and never confirmed it."""
    users = User.objects.filter(pk__in=_unconfirmed(address).values("user")).order_by("pk")
    for user in users.select_for_update(no_key=True):
        record_authentication_event("address.removed", user=user, request=request, subject=address)
        if is_same(user.email, address):  # the user signed up with it
            user.email = f"{uuid4()}@nobody.invalid"  # RFC 2606: belongs to nobody
            user.set_unusable_password()
            user.save(update_fields=["email", "password"])
            sessions.end_all(user)
    _unconfirmed(address).delete()


@transaction.atomic
def _create(claims: Claims, request: HttpRequest) -> User:
    address = tokens.email(claims)
    _release(address, request)
    language = get_language() or settings.LANGUAGE_CODE
    user = User.objects.create_user(address, name=tokens.name(claims), language=language[:2])
    EmailAddress.objects.create(user=user, email=address, verified=True, primary=True)
    _connect(user, claims)
    record_authentication_event(
        "identity.created", user=user, request=request, subject=settings.OIDC_NAME
    )
    return user


def _connect(user: User, claims: Claims) -> None:
    SocialAccount.objects.create(
        user=user,
        provider=settings.OIDC_ISSUER,
        uid=claims["sub"],
        extra_data={"email": tokens.email(claims)},
    )


@transaction.atomic
def link(user: User, claims: Claims, request: HttpRequest) -> None:
    """Connects the identity to the signed-in user. Their addresses may differ."""
    User.objects.select_for_update(no_key=True).get(pk=user.pk)
    owner = find(claims)
    if owner is not None and owner.pk != user.pk:
        raise RefusedError(Reason.LINKED_ELSEWHERE)
    if SocialAccount.objects.filter(user=user, provider=settings.OIDC_ISSUER).exists():
        raise RefusedError(Reason.LINKED_ALREADY)
    try:
        with transaction.atomic():
            _connect(user, claims)
    except IntegrityError as error:  # another user connected it in parallel
        raise RefusedError(Reason.LINKED_ELSEWHERE) from error
    _announce("identity.linked", user, request)
    sessions.end_others(request, user)


@transaction.atomic
def unlink(user: User, request: HttpRequest) -> bool:
    """Disconnects the identity and withdraws what its groups granted; False if there was none."""
    rows = SocialAccount.objects.filter(user=user, provider=settings.OIDC_ISSUER)
    if not rows.delete()[0]:
        return False
    apply_grants(user, frozenset(), request)
    _announce("identity.unlinked", user, request)
    sessions.end_others(request, user)
    return True


@transaction.atomic
def remove(identity: SocialAccount, *, request: HttpRequest, operator: User) -> None:
    """Disconnects another user's identity, withdraws what its groups granted, and ends the user's
    sessions.
    """
    subject = f"{identity.user} {identity.provider}"
    record_authentication_event("identity.removed", user=operator, request=request, subject=subject)
    apply_grants(identity.user, frozenset(), request)
    identity.delete()
    sessions.end_all(identity.user)


def _announce(action: str, user: User, request: HttpRequest) -> None:
    record_authentication_event(action, user=user, request=request, subject=settings.OIDC_NAME)
    notifications.post_change(action, user=user, request=request, provider=settings.OIDC_NAME)
