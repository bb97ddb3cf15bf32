"""Audits operators' changes in the admin and notifies the affected users."""

from collections.abc import Iterable
from typing import Any, ClassVar

from allauth.account.models import EmailAddress
from django.contrib import admin
from django.contrib.admin.utils import model_format_dict
from django.contrib.admin.widgets import AdminTextInputWidget
from django.core.validators import EMPTY_VALUES
from django.db import connection, models, transaction
from django.db.models import Model, QuerySet
from django.forms import ModelChoiceField, ModelMultipleChoiceField
from django.http import HttpRequest

from accounts import audit
from accounts.audit import Changes, changes_between
from accounts.models import Company, Member, User
from accounts.security import notifications
from cabinet.forms import GroupedDecimalField, GroupedIntegerField
from operator_admin.model_pages.bases import FORM_FIELDS, ModelAdmin, actor
from processes.server.client_ip import address_of

_CHANGES = "_audited_changes"


class AuditedAdmin(admin.ModelAdmin):  # type: ignore[type-arg]
    """An admin that adds audit events to Django's own history, whose rows are mutable.

    They have old and new values, no secrets, and masked phones, as in the cabinet's audit log.
    """

    def construct_change_message(
        self, request: HttpRequest, form: Any, formsets: Any, add: bool = False
    ) -> Any:
        if not add:
            setattr(request, _CHANGES, _changed_values(form, formsets or ()))
        return super().construct_change_message(request, form, formsets, add)

    def get_object(
        self, request: HttpRequest, object_id: str, from_field: str | None = None
    ) -> Any:
        """The row, locked if it is being changed.

        Django writes all its columns, which would undo concurrent changes of other processes.
        """
        row: Any = super().get_object(request, object_id, from_field)
        if row is None or request.method != "POST" or not connection.in_atomic_block:
            return row
        rows = type(row)._default_manager.select_for_update(of=("self",))  # noqa: SLF001
        return rows.filter(pk=row.pk).first()

    def log_addition(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        record(request, "admin.added", obj)
        return super().log_addition(request, obj, message)

    def log_change(self, request: HttpRequest, obj: Model, message: Any) -> Any:
        if message:  # something differs
            record(request, "admin.changed", obj, getattr(request, _CHANGES, None))
        return super().log_change(request, obj, message)

    def log_deletions(self, request: HttpRequest, queryset: QuerySet[Any]) -> Any:
        for row in queryset:
            record(request, "admin.deleted", row)
        return super().log_deletions(request, queryset)


class AuditedChangesAdmin(ModelAdmin):
    """An admin that records each change in the audit log: old value → new value."""

    audit_action: ClassVar[str]
    formfield_overrides: ClassVar[Any] = {
        **FORM_FIELDS,
        models.PositiveBigIntegerField: {
            "form_class": GroupedIntegerField,
            "widget": AdminTextInputWidget({"inputmode": "numeric"}),
        },
        models.DecimalField: {
            "form_class": GroupedDecimalField,
            "widget": AdminTextInputWidget({"inputmode": "decimal"}),
            "localize": True,
        },
    }

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        super().save_model(request, obj, form, change)
        before = form.initial if change else {}
        now = form.cleaned_data
        changes = [f"{name} {before.get(name, '')} → {now[name]}" for name in form.changed_data]
        self._record(request, f"{obj}: {', '.join(changes)}")

    def delete_model(self, request: HttpRequest, obj: Any) -> None:
        self._record(request, f"{obj} → —")
        super().delete_model(request, obj)

    @transaction.atomic
    def delete_queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> None:
        for row in queryset:
            self.delete_model(request, row)

    def _record(self, request: HttpRequest, subject: str) -> None:
        audit.record(self.audit_action, subject, company=None, **actor(request))


def _changed_values(form: Any, formsets: Iterable[Any]) -> Changes:
    """Field → [old, new], including inline rows, whose names are appended to their fields."""
    changes = _values_of(form)
    for row in (row for formset in formsets for row in formset.forms if row.has_changed()):
        values = _values_of(row)
        changes |= {f"{name} ({row.instance})": pair for name, pair in values.items()}
    return changes


def _values_of(form: Any) -> Changes:
    cleaned = form.cleaned_data
    names = [name for name in form.changed_data if name in cleaned]
    old = {name: _with_names(form[name].initial, form.fields[name]) for name in names}
    new = {name: _with_names(cleaned[name], form.fields[name]) for name in names}
    return changes_between(old, new)


def _with_names(value: Any, field: Any) -> Any:
    """Replaces rows of other tables by their names in the field's choices."""
    if isinstance(field, ModelMultipleChoiceField):
        return sorted(_name_of(row, field) for row in value or ())
    if isinstance(field, ModelChoiceField) and value not in EMPTY_VALUES:
        return _name_of(value, field)
    return value


def _name_of(value: Any, field: Any) -> str:
    return str(
        value if isinstance(value, Model) else field.queryset.filter(pk=value).first() or value
    )


def record(request: HttpRequest, action: str, obj: Model, changes: Changes | None = None) -> None:
    operator = request.user
    assert isinstance(operator, User)  # noqa: S101 - the admin lets nobody else in
    company = obj if isinstance(obj, Company) else getattr(obj, "company", None)
    subject = f"{model_format_dict(obj)['verbose_name']} {obj}"
    audit.record(
        action, subject, company=company, user=operator, ip=address_of(request), changes=changes
    )
    for user in _affected_users(obj):
        notifications.post_to_user("admin.changed", user)
    if isinstance(obj, Member) and action != "admin.deleted":
        mail_about_new_owners(request, [obj])


def mail_about_new_owners(request: HttpRequest, members: Iterable[object]) -> None:
    """Notifies a company's owners of an owner added by an operator."""
    for member in members:
        if (
            isinstance(member, Member)
            and member.role == Member.Role.OWNER
            and isinstance(request.user, User)
        ):
            notifications.post_company_change(
                "owner.made",
                company=member.company,
                user=request.user,
                ip=None,
                affected=member.user,
                whom=member.user.email,
            )


def _affected_users(obj: Model) -> list[User]:
    """Users whose credentials or addresses were changed."""
    if isinstance(obj, User):
        return [obj]
    return [obj.user] if isinstance(obj, EmailAddress) else []
