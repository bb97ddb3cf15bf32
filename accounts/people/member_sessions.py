"""An owner ends sessions of a member, who is told of it by letter."""

from ipaddress import ip_address

from django.db import transaction

from accounts.audit.events import record
from accounts.models import Member, User, UserSession
from accounts.security import sessions
from accounts.security.notifications import post_to_user


@transaction.atomic
def end(*, member: Member, session_id: int, user: User, ip: str | None = None) -> bool:
    """Returns False when the session is over already."""
    rows = UserSession.objects.select_for_update().filter(user=member.user_id, pk=session_id)
    session = rows.first()
    if session is None:
        return False
    sessions.end(session)
    _tell("member.session_ended", member, user, ip, device=session.device)
    return True


@transaction.atomic
def end_all(*, member: Member, user: User, ip: str | None = None) -> int:
    """Also those that are just being opened; returns how many there were."""
    # The lock: of two owners at once, one ends them and one letter goes out.
    whose = User.objects.select_for_update(no_key=True).get(pk=member.user_id)
    count = sessions.end_all(whose)
    if count:
        _tell("member.sessions_ended", member, user, ip, device="")
    return count


def _tell(action: str, member: Member, user: User, ip: str | None, *, device: str) -> None:
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
    """Enough to recognise a network; an owner need not know where exactly somebody lives."""
    if not ip:
        return "—"
    address = ip_address(ip)
    if address.version == 4:
        return ".".join(ip.split(".")[:2]) + ".*.*"
    return ":".join(address.exploded.split(":")[:2]) + ":*"
