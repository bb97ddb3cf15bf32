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
log = structlog.get_logger(__name__)
SECRET = re.compile(r"secret|password|token|credential|digest|private", re.IGNORECASE)
HIDDEN = "•••"
MAX_TEXT_LENGTH = 500  # characters of a text
PHONE = re.compile(r"\+\d{8,15}")
URL_LIKE = re.compile("://|=")  # a URL, or a query string
Changes = dict[str, list[Any]]


def changes_of(stored: object, new: Mapping[str, object]) -> Changes:
    """Field → [old, new] for fields that differ; keys of a mapping are fields: `patience_sms`."""
    return changes_between(
        _flattened({name: getattr(stored, name) for name in new}), _flattened(new)
    )


def save_changes(row: Model, new: Mapping[str, object]) -> Changes:
    """Saves the fields that differ; returns their changes, empty if nothing was saved."""
    different = {name: value for name, value in new.items() if getattr(row, name) != value}
    changes = changes_of(row, different)
    for name, value in different.items():
        setattr(row, name, value)
    if different:
        row.save(update_fields=list(different))
    return changes


def _flattened(values: Mapping[str, object]) -> dict[str, object]:
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
    return [_json_value(value) for value in values]


def _json_value(value: object) -> Any:
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, list | tuple | set | frozenset):
        return [_json_value(item) for item in value]
    text = str(value)
    if URL_LIKE.search(text):
        return mask_phones_in(text)[:MAX_TEXT_LENGTH]
    return PHONE.sub(lambda match: mask_phone(match[0]), text)[:MAX_TEXT_LENGTH]


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
    """Whether the user is an operator and not a member of the company.

    The company must not learn which operator acted.
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


# The other packages add theirs at start.
ACTION_LABELS: dict[str, StrOrPromise] = {
    "company.created": _("created the company"),
    "company.approved": _("approved the company"),
    "company.suspended": _("suspended the company"),
    "company.pending": _("returned the company to pending approval"),
    "company.closing": _("asked to delete the company"),
    "company.hastened": _("moved the deletion of the company"),
    "company.kept": _("cancelled the deletion of the company"),
    "settings.changed": _("changed the settings"),
    "key.created": _("created an API key"),
    "key.verify_created": _("created a key for another service's client"),
    "key.rotated": _("replaced an API key"),
    "key.revoked": _("revoked an API key"),
    "member.invited": _("invited a member"),
    "member.joined": _("joined the company"),
    "member.role_changed": _("changed a member's role"),
    "member.removed": _("removed a member"),
    "member.left": _("left the company"),
    "member.session_ended": _("ended a member's session"),
    "member.sessions_ended": _("ended all sessions of a member"),
    "invitation.revoked": _("cancelled an invitation"),
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
    "notices.muted": _("switched e-mails off by a link in one of them"),
    "address.added": _("added an e-mail address"),
    "address.confirmed": _("confirmed an e-mail address"),
    "address.primary": _("changed the main e-mail address"),
    "address.removed": _("removed an e-mail address"),
    "identity.created": _("opened the account by single sign-on"),
    "identity.linked": _("connected single sign-on"),
    "identity.unlinked": _("disconnected single sign-on"),
    "identity.removed": _("removed a connection to single sign-on"),
    "operator.changed": _("got different operator rights by single sign-on"),
    "factor.added": _("added a second factor"),
    "factor.removed": _("removed a second factor"),
    "recovery_codes.generated": _("created new recovery codes"),
    "recovery_codes.viewed": _("looked at the recovery codes"),
}
# Recorded field name → label of its form field.
FIELD_LABELS: dict[str, StrOrPromise] = {
    **{field.name: field.verbose_name for field in Company._meta.fields},  # noqa: SLF001
    "closes_at": _("Day of deletion"),
    **{
        f"patience_{channel.name}": format_lazy(_("Seconds for {channel}"), channel=channel.title)
        for channel in CHANNELS
    },
    "role": _("Role"),
}
Describe = Callable[[AuditEvent], str]
_descriptions: dict[str, Describe] = {}
_field_actions = {"settings.changed"}


def label(action: str) -> StrOrPromise:
    return ACTION_LABELS.get(action, action)


def declare(
    actions: Mapping[str, StrOrPromise],
    *,
    describe: Describe | None = None,
    has_fields: bool = False,
) -> None:
    """Adds a package's actions. `describe` turns their events into text that includes the old and
    new values; `has_fields`: their subjects are names of fields.
    """
    ACTION_LABELS.update(actions)
    if describe:
        _descriptions.update(dict.fromkeys(actions, describe))
    if has_fields:
        _field_actions.update(actions)


def has_description(event: AuditEvent) -> bool:
    """Whether the event's description includes the old and new values."""
    return event.action in _descriptions


def has_fields(event: AuditEvent) -> bool:
    """Whether the subject is a list of fields, which the old and new values repeat."""
    return event.action in _field_actions


def subject(event: AuditEvent) -> str:
    """The event's description, or its subject, in which labels replace field names."""
    if has_description(event):
        return _descriptions[event.action](event)
    if not has_fields(event):
        return event.subject
    return ", ".join(str(FIELD_LABELS.get(name, name)) for name in event.subject.split(", "))
