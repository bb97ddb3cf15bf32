"""E-mails about security changes, to the primary address, in the reader's language."""

from collections.abc import Mapping
from typing import NamedTuple

from allauth.account.models import EmailAddress
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone, translation
from django.utils.translation import gettext_lazy as _

from accounts.audit import acts_as_operator
from accounts.models import Company, Member, User
from accounts.models.records import OPERATOR
from accounts.names import device_name
from accounts.outbox import mail
from catalogue.texts import StrOrPromise
from processes.server.client_ip import address_of


class Notice(NamedTuple):
    subject: StrOrPromise
    text: StrOrPromise


# allauth's own notifications, by its template prefixes.
NOTICES_OF_ALLAUTH = {
    "account/email/email_changed": Notice(
        _("Your e-mail address was changed"),
        _("The e-mail address of your account was changed from %(from_email)s to %(to_email)s."),
    ),
    "account/email/email_confirm": Notice(
        _("Your e-mail address was confirmed"),
        _("The e-mail address of your account was confirmed."),
    ),
    "account/email/email_deleted": Notice(
        _("An e-mail address was removed"),
        _("The address %(deleted_email)s was removed from your account."),
    ),
    "account/email/password_changed": Notice(
        _("Your password was changed"),
        _("The password of your account was changed."),
    ),
    "account/email/password_reset": Notice(
        _("Your password was changed"),
        _("A new password was set for your account with a link from an e-mail."),
    ),
    "account/email/password_set": Notice(
        _("A password was set"),
        _("A password was set for your account."),
    ),
    "mfa/email/recovery_codes_generated": Notice(
        _("New recovery codes"),
        _("New recovery codes were created for your account. The old ones no longer work."),
    ),
    "mfa/email/totp_activated": Notice(
        _("Two-step sign-in is on"),
        _("An authenticator app was connected to your account."),
    ),
    "mfa/email/totp_deactivated": Notice(
        _("Two-step sign-in is off"),
        _("The authenticator app was disconnected from your account."),
    ),
    "mfa/email/webauthn_added": Notice(
        _("A passkey was added"),
        _("A passkey was added to your account."),
    ),
    "mfa/email/webauthn_removed": Notice(
        _("A passkey was removed"),
        _("A passkey was removed from your account."),
    ),
}

NOTICES = {
    "address.added": Notice(
        _("An address was added to your account"),
        _("The address %(address)s was added to your account. It still has to be confirmed."),
    ),
    "address.confirmed": Notice(
        _("An address of your account was confirmed"),
        _("The address %(address)s was confirmed. You can now sign in with it."),
    ),
    "address.primary": Notice(
        _("Your main address was changed"),
        _("%(address)s is now the main address of your account, instead of %(old)s."),
    ),
    "address.removed": Notice(
        _("An address was removed from your account"),
        _("The address %(address)s was removed from your account."),
    ),
    "recovery_codes.viewed": Notice(
        _("Your recovery codes were shown"), _("The recovery codes of your account were shown.")
    ),
    "identity.linked": Notice(
        _("Single sign-on was connected to your account"),
        _("Your account can now be opened with %(provider)s."),
    ),
    "identity.unlinked": Notice(
        _("Single sign-on was disconnected from your account"),
        _("%(provider)s no longer opens your account."),
    ),
    "session.locked": Notice(
        _("Too many wrong attempts to confirm your identity"),
        _(
            "In one of your sessions the password or the code was entered wrong too many "
            "times. That session was ended."
        ),
    ),
    "device.new": Notice(
        _("New sign-in to your account"),
        _(
            "Somebody signed in to your account in a new browser: one not used before, or not "
            "since you changed the password or ended your sessions. If it was you, there is "
            "nothing to do."
        ),
    ),
    "factor.failed": Notice(
        _("Somebody knows your password"),
        _(
            "In a browser not used for your account before, somebody entered your password and "
            "then a wrong code of the second step. Nobody got in. If it was you, there is "
            "nothing to do."
        ),
    ),
    "member.session_ended": Notice(
        _("An owner ended your session"),
        _("%(who)s, an owner of %(company)s, ended your session in this browser: %(device)s."),
    ),
    "member.sessions_ended": Notice(
        _("An owner ended your sessions"),
        _("%(who)s, an owner of %(company)s, ended all your sessions. Sign in again."),
    ),
    "admin.changed": Notice(
        _("Your account was changed by the operator"),
        _("The operator of the service changed your account, its address or its second factor."),
    ),
    "key.created": Notice(
        _("A live API key was created"), _("%(who)s created the live key “%(key)s” of %(company)s.")
    ),
    "key.rotated": Notice(
        _("A live API key was replaced"),
        _("%(who)s replaced the live key “%(key)s” of %(company)s."),
    ),
    "owner.invited": Notice(
        _("An owner was invited"), _("%(who)s invited %(whom)s to %(company)s as its owner.")
    ),
    "owner.made": Notice(
        _("A company has a new owner"), _("%(who)s made %(whom)s an owner of %(company)s.")
    ),
    "owner.gone": Notice(
        _("A company has one owner fewer"),
        _("%(whom)s is no longer an owner of %(company)s. This was done by %(who)s."),
    ),
    "company.closing": Notice(
        _("Your company will be deleted"),
        _(
            "%(who)s asked to delete %(company)s. It will be deleted on %(day)s. Until then "
            "everything works except automatic top-ups, and any owner can keep the company in the "
            "cabinet: %(page)s"
        ),
    ),
    "company.hastened": Notice(
        _("Your company will be deleted sooner"),
        _(
            "The operator of the service has moved the deletion of %(company)s to %(day)s. Until "
            "then any owner can keep the company in the cabinet: %(page)s"
        ),
    ),
    "company.closes_soon": Notice(
        _("Your company will be deleted in a few days"),
        _(
            "%(company)s will be deleted on %(day)s. To keep it, press “Keep the company” in "
            "the cabinet before then: %(page)s"
        ),
    ),
    "company.kept": Notice(
        _("Your company will not be deleted"),
        _("%(who)s cancelled the deletion of %(company)s. Everything works as before."),
    ),
    "company.deleted": Notice(
        _("Your company is deleted"),
        _(
            "%(company)s is deleted: its keys and webhooks are off, its short links no longer "
            "work and its members have no access. Its data about recipients is being erased. "
            "Invoices, closing documents, the ledger and the audit log are kept for as long as "
            "the law requires; for a copy, write to the operator of the service."
        ),
    ),
}


def primary_address(user: User) -> str:
    return EmailAddress.objects.get_primary_email(user) or user.email


def post_change(
    kind: str,
    *,
    user: User,
    request: HttpRequest,
    to: str | None = None,
    key: str | None = None,
    **params: str,
) -> None:
    """Notifies a user of an account change, at the primary address unless `to` is given; at most
    once per `key`.
    """
    agent = request.META.get("HTTP_USER_AGENT", "")
    ip = address_of(request)
    device = device_name(agent)
    _post(kind, user, params, ip=ip, device=device, to=to or primary_address(user), key=key)


def post_to_user(kind: str, user: User, **params: str) -> None:
    """Notifies a user of what somebody else did, without that person's IP address."""
    _post(kind, user, params, ip=None, device="", to=primary_address(user))


def post_company_change(
    kind: str,
    *,
    company: Company,
    user: User,
    ip: str | None,
    affected: User | None = None,
    **params: StrOrPromise,
) -> None:
    """Notifies the owners of a company, the acting user and the `affected` user."""
    params |= {"company": company.name, "who": name_for(company, user)}
    for reader in {
        reader.pk: reader for reader in (user, affected or user, *_owners(company))
    }.values():
        _post(kind, reader, params, ip=ip, device="", to=primary_address(reader))


def name_for(company: Company, user: User) -> StrOrPromise:
    return OPERATOR if acts_as_operator(user, company) else user.email


def post_to_owners(
    kind: str,
    *,
    company: Company,
    ip: str | None = None,
    key: str | None = None,
    **params: StrOrPromise,
) -> None:
    """Notifies only the owners; at most once per `key` and owner."""
    context = {"company": company.one_line_name, **params}
    for reader in _owners(company).order_by("pk"):
        key_of_reader = f"{key}:{reader.pk}" if key else None
        _post(
            kind, reader, context, ip=ip, device="", to=primary_address(reader), key=key_of_reader
        )


def _owners(company: Company) -> QuerySet[User]:
    return User.objects.filter(
        memberships__company=company, memberships__role=Member.Role.OWNER, is_active=True
    )


def _post(
    kind: str,
    reader: User,
    params: Mapping[str, StrOrPromise],
    *,
    ip: str | None,
    device: str,
    to: str,
    key: str | None = None,
) -> None:
    notice = NOTICES[kind]
    with translation.override(reader.language):
        subject = str(notice.subject)
        text = str(notice.text) % params
    mail.post(
        template="account_change",
        to=to,
        language=reader.language,
        context={
            "notice": subject,
            "what": text,
            "timestamp": timezone.now(),
            "ip": ip,
            "device": device,
        },
        key=key,
    )
