"""Writes audit events with old and new values, and labels them."""

import re
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import structlog
from django.db.models import Model
from django.http import HttpRequest
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.masked_phones import mask_phone, mask_phones_in
from accounts.models import AuditEvent, Company, User
from catalogue.channels import CHANNELS
from catalogue.texts import StrOrPromise
from processes.server.client_ip import address_of

# For a field with such a name, an event only says that the value changed.
SECRET = re.compile(r"secret|password|token|credential|digest|private", re.IGNORECASE)
HIDDEN = "•••"
MAX_TEXT_LENGTH = 500  # characters of a text
PHONE = re.compile(r"\+\d{8,15}")
URL_LIKE = re.compile("://|=")  # a URL, or a query string
Changes = dict[str, list[Any]]


def changes_of(stored: object, new: Mapping[str, object]) -> Changes:
    """Field → [old, new] for fields that differ; keys of a mapping are fields: `patience_sms`."""
    return changes_between(_flat({name: getattr(stored, name) for name in new}), _flat(new))


def save_changes(row: Model, new: Mapping[str, object]) -> Changes:
    """Saves the fields that differ; returns their changes, empty if nothing was saved."""
    different = {name: value for name, value in new.items() if getattr(row, name) != value}
    changes = changes_of(row, different)
    for name, value in different.items():
        setattr(row, name, value)
    if different:
        row.save(update_fields=list(different))
    return changes


def _flat(values: Mapping[str, object]) -> dict[str, object]:
    flat: dict[str, object] = {}
    for name, value in values.items():
        if isinstance(value, Mapping):
            flat |= {f"{name}_{key}": part for key, part in value.items()}
        else:
            flat[name] = value
    return flat


def changes_between(old: Mapping[str, object], new: Mapping[str, object]) -> Changes:
    return {
        name: _stored_values(name, (old.get(name), new.get(name)))
        for name in dict.fromkeys([*old, *new])
        if old.get(name) != new.get(name)
    }


def _stored_values(name: str, values: Iterable[object]) -> list[Any]:
    if SECRET.search(name):
        return [HIDDEN, HIDDEN]
    return [_plain(value) for value in values]


def _plain(value: object) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(item) for item in value]
    text = str(value)
    if URL_LIKE.search(text):
        return mask_phones_in(text)[:MAX_TEXT_LENGTH]
    return PHONE.sub(lambda match: mask_phone(match[0]), text)[:MAX_TEXT_LENGTH]


log = structlog.get_logger(__name__)


def record(
    action: str,
    subject: object,
    *,
    company: Company | None,
    user: User | None,
    ip: str | None = None,
    changes: Changes | None = None,
) -> AuditEvent:
    return AuditEvent.objects.create(
        action=action,
        subject=str(subject)[:200],
        company=company,
        user=user,
        actor=user.email if user else "",
        ip=ip or None,
        by_operator=company is not None and user is not None and acts_as_operator(user, company),
        changes=changes or None,
    )


def acts_as_operator(user: User, company: Company) -> bool:
    """Whether the user is an operator and no member of the company, which must not
    learn who acted.
    """
    return user.is_staff and not company.members.filter(user=user.pk).exists()


def record_authentication_event(
    action: str, *, user: User | None, request: HttpRequest | None, subject: object = ""
) -> None:
    """An audit event without a company, and a log line.

    The subject is not logged, since it may be an e-mail address. It is never a secret.
    """
    ip = address_of(request)
    record(action, subject, company=None, user=user, ip=ip)
    log.info("authentication_event", action=action, user=user.pk if user else None, ip=ip)


ACTION_LABELS: dict[str, StrOrPromise] = {
    "company.created": _("created the company"),
    "company.approved": _("approved the company"),
    "company.suspended": _("suspended the company"),
    "company.pending": _("returned the company to pending approval"),
    "company.closing": _("asked to delete the company"),
    "company.hastened": _("moved the deletion of the company"),
    "company.kept": _("canceled the deletion of the company"),
    "company.deleted": _("deleted the company"),
    "company.erased": _("finished erasing the company's data about recipients"),
    "company.exported": _("exported the company's data"),
    "company.export_downloaded": _("downloaded the company's data"),
    "settings.changed": _("changed the settings"),
    "policy.changed": _("changed the policy"),
    "text.created": _("added a text"),
    "text.changed": _("changed a text"),
    "text.deleted": _("deleted a text"),
    "autofill.changed": _("changed the lines for autofill"),
    "key.created": _("created an API key"),
    "key.verify_created": _("created a key for another service's client"),
    "key.rotated": _("replaced an API key"),
    "key.revoked": _("revoked an API key"),
    "history.exported": _("downloaded the history"),
    "audit.exported": _("downloaded the audit log"),
    "message.requested": _("asked for a message from the cabinet"),
    "member.invited": _("invited a member"),
    "member.joined": _("joined the company"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the company"),
    "member.session_ended": _("ended a member's session"),
    "member.sessions_ended": _("ended all sessions of a member"),
    "invitation.revoked": _("canceled an invitation"),
    "webhook.created": _("added a webhook address"),
    "webhook.changed": _("changed a webhook address"),
    "webhook.rotated": _("replaced the secret of a webhook address"),
    "webhook.enabled": _("switched webhooks on"),
    "webhook.disabled": _("switched webhooks off"),
    "webhook.deleted": _("removed a webhook address"),
    "webhook.replayed": _("replayed events"),
    "webhook.gave_up": _("switched webhooks off: nothing was accepted for a day"),
    "hook.created": _("connected an identity server"),
    "hook.changed": _("changed the connection of an identity server"),
    "hook.rotated": _("replaced the secret of an identity server"),
    "hook.revoked": _("revoked the connection of an identity server"),
    "hook.tried": _("tried the connection of an identity server"),
    "order.created": _("asked for a top-up"),
    "document.sent": _("sent a document by e-mail"),
    "order.canceled": _("canceled a top-up"),
    "method.saved": _("saved a payment method"),
    "method.removed": _("removed the payment method"),
    "auto_top_up.on": _("turned automatic top-ups on"),
    "auto_top_up.off": _("turned automatic top-ups off"),
    "auto_top_up.resumed": _("resumed automatic top-ups"),
    "order.confirmed": _("confirmed a payment"),
    "payment.recorded": _("recorded a payment that does not fit"),
    "payment.accepted": _("accepted a payment that differs"),
    "payment.settled": _("settled a payment manually"),
    "refund.settled": _("settled a refund manually"),
    "transfer.assigned": _("credited a top-up with a bank transfer"),
    "transfer.refunded": _("took tokens back for a returned bank transfer"),
    "transfer.returned": _("returned a bank transfer to its payer"),
    "transfer.dismissed": _("marked a bank transfer as no top-up"),
    "billing.changed": _("changed the billing details"),
    "seller.changed": _("changed the seller's details"),
    "prices.changed": _("changed the prices"),
    "budget.changed": _("changed the budgets"),
    "guard.mode_changed": _("changed the mode of the protection"),
    "guard.watches_others": _("changed whether attacks on other companies count"),
    "guard.lifted": _("lifted a restriction of the protection"),
    "guard.let_through": _("let sends through for an hour"),
    "key.limited": _("changed the limits of API keys"),
    "wallet.adjusted": _("changed the balance manually"),
    "statement.exported": _("downloaded the statement"),
    "link.disabled": _("disabled a short link"),
    "link.changed": _("changed a short link"),
    "links.imported": _("created short links from a file"),
    "links.exported": _("downloaded the list of links"),
    "links.blocked": _("disabled links to a blocked site"),
    "links.stopped": _("stopped short links"),
    "links.released": _("released short links"),
    "person.exported": _("exported a person's data"),
    "person.erased": _("erased a person's data"),
    "factor.reset": _("reset a second factor"),
    "admin.added": _("added in the admin"),
    "admin.changed": _("changed in the admin"),
    "admin.deleted": _("deleted in the admin"),
    "login.succeeded": _("signed in"),
    "login.sso": _("signed in by single sign-on"),
    "login.failed": _("failed to sign in"),
    "logout": _("signed out"),
    "reauthentication.passed": _("confirmed their identity"),
    "reauthentication.failed": _("failed to confirm who they are"),
    "session.ended": _("ended a session"),
    "sessions.ended": _("ended the other sessions"),
    "password.reset_requested": _("requested a password reset e-mail"),
    "password.reset": _("reset the password by e-mail"),
    "password.changed": _("changed the password"),
    "password.set": _("set a password"),
    "balance_alert.added": _("added a balance alert"),
    "balance_alert.removed": _("removed a balance alert"),
    "notices.muted": _("switched e-mails off by a link in one of them"),
    "address.added": _("added an e-mail address"),
    "address.confirmed": _("confirmed an e-mail address"),
    "address.primary": _("changed the main e-mail address"),
    "address.removed": _("removed an e-mail address"),
    "identity.created": _("opened the account by single sign-on"),
    "identity.linked": _("connected single sign-on"),
    "identity.unlinked": _("disconnected single sign-on"),
    "identity.removed": _("removed a connection to single sign-on"),
    "desk.changed": _("got different operator rights by single sign-on"),
    "factor.added": _("added a second factor"),
    "factor.removed": _("removed a second factor"),
    "recovery_codes.generated": _("created new recovery codes"),
    "recovery_codes.viewed": _("looked at the recovery codes"),
    "trial.sent": _("sent a trial message"),
    "account.changed": _("changed a provider account"),
    "account.connected": _("connected a provider account"),
    "account.disconnected": _("disconnected a provider account"),
    "account.enabled": _("switched a provider account on"),
    "account.tested": _("tested a provider account"),
    "account.disabled": _("switched a provider account off"),
    "channel.paused": _("paused a channel"),
    "channel.resumed": _("resumed a channel"),
    "job.retried": _("had failed work tried again"),
    "breaker.closed": _("closed a breaker"),
    "incident.opened": _("opened an incident"),
    "incident.updated": _("added an update to an incident"),
    "incident.resolved": _("resolved an incident"),
}
# Recorded field name → label of its form field.
FIELD_LABELS: dict[str, StrOrPromise] = {
    **{field.name: field.verbose_name for field in Company._meta.fields},  # noqa: SLF001
    "closes_at": _("Day of deletion"),
    **{
        f"patience_{channel.name}": format_lazy(_("Seconds for {channel}"), channel=channel.title)
        for channel in CHANNELS
    },
    "default_link_lifetime": _("Default link lifetime"),
    "role": _("Role"),
    "url": _("Address"),
    "kinds": _("Events"),
    "description": _("Description"),
    "expires_at": _("Expires"),
    "expired_url": _("Destination once it has expired"),
    "utm": _("Tags added to targets"),
    "purpose": _("Purpose"),
    "locale": _("Language"),
    "body": _("Text"),
    "webotp_host": _("Site where the code is entered"),
    "app_hash": _("Hash of the Android app"),
    "day": _("24 hours"),
    "low_balance": _("Low-balance alert below"),
    "legal_name": _("Legal name"),
    "inn": _("INN"),
    "kpp": _("KPP"),
    "address": _("Legal address"),
    "email": _("E-mail for documents"),
    "edo_id": _("Id in electronic document exchange"),
    "currency": _("Currency of prices"),
    "documents_language": _("Language of documents"),
    "mode": _("Mode"),
    "phone": _("Phone"),
    "person": _("Who"),
    "section": _("Section of settings"),
    "id": _("Message or request id"),
    "channel": _("Channel"),
    "state": _("Status"),
    "kind": _("Kind"),
    "api_key": _("Key"),
    "date_from": _("From"),
    "date_to": _("To"),
}
Describe = Callable[[AuditEvent], str]
_descriptions: dict[str, Describe] = {}
FIELD_ACTIONS = {"settings.changed", "billing.changed", "history.exported", "audit.exported"}


def label(action: str) -> StrOrPromise:
    return ACTION_LABELS.get(action, action)


def declare_descriptions(describe: Describe, *actions: str) -> None:
    """Registers a function that describes events of these actions; packages call it at start."""
    _descriptions.update(dict.fromkeys(actions, describe))


def has_description(event: AuditEvent) -> bool:
    """Whether the event's description includes the old and new values."""
    return event.action in _descriptions


def subject(event: AuditEvent) -> str:
    """The event's description, or its subject, in which labels replace field names."""
    if has_description(event):
        return _descriptions[event.action](event)
    if event.action not in FIELD_ACTIONS:
        return event.subject
    return ", ".join(str(FIELD_LABELS.get(name, name)) for name in event.subject.split(", "))
