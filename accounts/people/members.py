"""Membership of a company: invitations, joining, roles, leaving, and members' sessions."""

from datetime import timedelta
from ipaddress import ip_address

from django.conf import settings
from django.core import signing
from django.core.exceptions import PermissionDenied, ValidationError
from django.db import transaction
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.audit import changes_of, record
from accounts.models import Company, Invitation, Member, User, UserSession
from accounts.outbox import mail
from accounts.security import sessions
from accounts.security.notifications import post_company_change, post_to_user
from accounts.sign_in.addresses import is_same
from catalogue.errors import DomainError, Error

SALT = "accounts.invitation"
MAX_INVITATIONS_A_DAY = 20  # per company: invitations must not become a way to send spam
MAX_INVITATIONS_UNAPPROVED = 3
PROVIDER = "single sign-on"  # in the audit log: who granted or withdrew a role


def token(invitation: Invitation) -> str:
    """The token in the e-mail's link. Sending again invalidates earlier links."""
    return signing.dumps([invitation.pk, int(invitation.sent_at.timestamp())], salt=SALT)


def invitation_of(text: str) -> Invitation | None:
    try:
        pk, sent_at = signing.loads(text, salt=SALT, max_age=Invitation.LIFETIME)
    except (signing.BadSignature, ValueError):
        return None
    row = Invitation.objects.open().select_related("company", "invited_by").filter(pk=pk).first()
    return row if row and int(row.sent_at.timestamp()) == sent_at else None


@transaction.atomic
def invite(
    *, company: Company, email: str, role: str, user: User, ip: str | None = None
) -> Invitation:
    """Creates an invitation and sends its e-mail; a pending one for the address is replaced."""
    _lock(company)
    _require_owner(company, user)
    if company.members.filter(user__email__iexact=email).exists():
        raise ValidationError(_("This person is already a member."), code="member")
    _require_few_invitations(company)
    pending = company.invitations.filter(accepted_at=None, revoked_at=None, email__iexact=email)
    pending.update(revoked_at=timezone.now())
    invitation = Invitation.objects.create(company=company, email=email, role=role, invited_by=user)
    mail.post(
        template="invitation",
        to=email,
        language=user.language,
        context={
            "company": company,
            "invitation": invitation,
            "join_url": settings.PUBLIC_URL + reverse("invitation-join", args=[token(invitation)]),
        },
    )
    record("member.invited", invitation, company=company, user=user, ip=ip)
    if role == Member.Role.OWNER:
        post_company_change("owner.invited", company=company, user=user, ip=ip, whom=email)
    return invitation


def _require_few_invitations(company: Company) -> None:
    """Limits a day's invitations, more strictly before approval: the e-mail shows a company name
    that anybody can choose at sign-up.
    """
    is_approved = company.status == Company.Status.APPROVED
    limit = MAX_INVITATIONS_A_DAY if is_approved else MAX_INVITATIONS_UNAPPROVED
    a_day_ago = timezone.now() - timedelta(days=1)
    if company.invitations.filter(sent_at__gt=a_day_ago).count() >= limit:
        raise ValidationError(
            _("%(n)d invitations were sent in a day, which is the maximum. Try again tomorrow."),
            code="too_many",
            params={"n": limit},
        )


@transaction.atomic
def revoke_invitation(*, invitation: Invitation, user: User, ip: str | None = None) -> None:
    rows = Invitation.objects.filter(pk=invitation.pk, accepted_at=None, revoked_at=None)
    if rows.update(revoked_at=timezone.now()):
        record("invitation.revoked", invitation, company=invitation.company, user=user, ip=ip)


@transaction.atomic
def join(*, invitation: Invitation, user: User, ip: str | None = None) -> Member | None:
    """Accepts the invitation once; None if it is no longer open when read under the lock."""
    _lock(invitation.company)
    rows = Invitation.objects.open().filter(pk=invitation.pk)
    if not is_same(user.email, invitation.email) or not rows.update(accepted_at=timezone.now()):
        return None
    # The invited role replaces that of a provider's group, which would end with the group.
    for member in user.memberships.filter(company=invitation.company, from_provider=True):
        withdraw(member=member, ip=ip)
    member, _made = Member.objects.get_or_create(
        company=invitation.company, user=user, defaults={"role": invitation.role}
    )
    record("member.joined", member, company=invitation.company, user=user, ip=ip)
    if member.role == Member.Role.OWNER:
        _follow_owner_change("owner.made", member, user, ip)
    return member


@transaction.atomic
def change_role(*, member: Member, role: str, user: User, ip: str | None = None) -> None:
    if not _lock_and_reload(member) or member.role == role:
        return
    _require_local_role(member)
    if role != Member.Role.OWNER:
        _require_another_owner(member)
    _require_owner(member.company, user)
    was_owner = member.role == Member.Role.OWNER
    roles = changes_of(member, {"role": role})
    member.role = role
    member.save(update_fields=["role"])
    record("member.role_changed", member, company=member.company, user=user, ip=ip, changes=roles)
    if was_owner or role == Member.Role.OWNER:
        _follow_owner_change("owner.gone" if was_owner else "owner.made", member, user, ip)


@transaction.atomic
def remove(*, member: Member, user: User, ip: str | None = None) -> None:
    """Removes a member; takes effect with their next request."""
    if not _lock_and_reload(member):
        return
    _require_local_role(member)
    _require_another_owner(member)
    if member.user_id != user.pk:
        _require_owner(member.company, user)
    action = "member.left" if member.user_id == user.pk else "member.removed"
    record(action, member, company=member.company, user=user, ip=ip)
    member.delete()
    if member.role == Member.Role.OWNER:
        _follow_owner_change("owner.gone", member, user, ip)


@transaction.atomic
def grant(*, company: Company, user: User, role: Member.Role, ip: str | None = None) -> None:
    """Applies a role granted by a provider's group. A membership granted here is unchanged."""
    if _lock(company).deleted_at is not None:
        return
    member, is_new = Member.objects.get_or_create(
        company=company, user=user, defaults={"role": role, "from_provider": True}
    )
    if not member.from_provider or (member.role == role and not is_new):
        return
    was_owner = member.role == Member.Role.OWNER and not is_new
    roles = changes_of(member, {"role": role})
    member.role = role
    member.save(update_fields=["role"])
    action = "member.joined" if is_new else "member.role_changed"
    record(action, f"{member} ({PROVIDER})", company=company, user=user, ip=ip, changes=roles)
    if was_owner or role == Member.Role.OWNER:
        _follow_owner_change("owner.gone" if was_owner else "owner.made", member, user, ip)


@transaction.atomic
def withdraw(*, member: Member, ip: str | None = None) -> None:
    """Withdraws a role that no group grants now, even the only owner's: the provider decides."""
    if not _lock_and_reload(member):
        return
    record(
        "member.removed", f"{member} ({PROVIDER})", company=member.company, user=member.user, ip=ip
    )
    member.delete()
    if member.role == Member.Role.OWNER:
        _follow_owner_change("owner.gone", member, member.user, ip)


def _follow_owner_change(kind: str, member: Member, user: User, ip: str | None) -> None:
    """Notifies the owners and the member of a new or former owner.

    A former owner's invitations become invalid for good, even if the person becomes an owner again.
    """
    if kind == "owner.gone":
        pending = member.company.invitations.filter(accepted_at=None, revoked_at=None)
        pending.filter(invited_by=member.user_id).update(revoked_at=timezone.now())
    affected = member.user
    post_company_change(
        kind, company=member.company, user=user, ip=ip, affected=affected, whom=affected.email
    )


def _require_owner(company: Company, user: User) -> None:
    """Raises unless the user is an owner, read under the lock of the company.

    A user who waited for the lock may have been removed in the meantime.
    """
    if not company.members.filter(user=user, role=Member.Role.OWNER).exists():
        raise PermissionDenied


def lock_for_key_manager(company: Company, user: User | None) -> None:
    """Locks the company and checks that the member may manage keys: needed for a secret that
    outlives the membership, or a new webhook URL. `user` is None for an API key, which may have
    been read before its company was deleted.
    """
    if _lock(company).deleted_at is not None:
        raise DomainError(Error.FORBIDDEN, message=_("The company is deleted"))
    if user is None:
        return
    member = company.members.filter(user=user).first()
    if member is None or not member.can_manage_keys:
        raise PermissionDenied


def _lock(company: Company) -> Company:
    # The company's row is the lock: two owners must not demote each other in parallel.
    return Company.objects.select_for_update(no_key=True).get(pk=company.pk)


def _lock_and_reload(member: Member) -> bool:
    """Locks the company and reads the member's role again; False if the membership has ended."""
    _lock(member.company)
    stored = Member.objects.filter(pk=member.pk).first()
    if stored is None:
        return False
    member.role = stored.role
    member.from_provider = stored.from_provider
    return True


def is_only_owner(member: Member) -> bool:
    owners = Member.objects.filter(
        company=member.company_id, role=Member.Role.OWNER, user__is_active=True
    )
    return member.role == Member.Role.OWNER and not owners.exclude(pk=member.pk).exists()


def _require_another_owner(member: Member) -> None:
    if is_only_owner(member):
        raise ValidationError(
            _("A company needs an owner: make somebody else an owner first."), code="last_owner"
        )


def _require_local_role(member: Member) -> None:
    if member.from_provider:
        raise ValidationError(
            _("This role comes from a group of the identity provider: change it there."),
            code="from_provider",
        )


@transaction.atomic
def end_session(*, member: Member, session_id: int, user: User, ip: str | None = None) -> bool:
    """Ends a member's session; False if it has ended already."""
    rows = UserSession.objects.select_for_update().filter(user=member.user_id, pk=session_id)
    session = rows.first()
    if session is None:
        return False
    sessions.end(session)
    _record_and_notify("member.session_ended", member, user, ip, device=session.device)
    return True


@transaction.atomic
def end_all_sessions(*, member: Member, user: User, ip: str | None = None) -> int:
    """Ends all sessions, including those being opened; returns the count."""
    # The lock: when two owners do this at once, one e-mail goes out.
    locked = User.objects.select_for_update(no_key=True).get(pk=member.user_id)
    count = sessions.end_all(locked)
    if count:
        _record_and_notify("member.sessions_ended", member, user, ip, device="")
    return count


def _record_and_notify(
    action: str, member: Member, user: User, ip: str | None, *, device: str
) -> None:
    subject = f"{member.user.email} {device}".strip()
    record(action, subject, company=member.company, user=user, ip=ip)
    post_to_user(
        action,
        member.user,
        who=user.email,
        company=member.company.one_line_name,
        device=device or "—",
    )


def mask_address(ip: str | None) -> str:
    """Keeps enough to recognise a network; an owner need not learn where exactly somebody lives."""
    if not ip:
        return "—"
    address = ip_address(ip)
    if address.version == 4:
        return ".".join(ip.split(".")[:2]) + ".*.*"
    return ":".join(address.exploded.split(":")[:2]) + ":*"
