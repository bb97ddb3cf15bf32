"""The operator's admin of users, members, keys and audit events, and its base classes.

Companies are in `operator_admin.companies_admin`, which needs the apps above this one.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin, messages
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.widgets import AdminTextInputWidget, AutocompleteSelect
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import ValidationError
from django.db import models, transaction
from django.db.models import Model, QuerySet
from django.http import HttpRequest
from django.utils.functional import Promise
from django.utils.html import format_html_join
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts import audit, jobs
from accounts.audit import record
from accounts.cabinet import audit_log
from accounts.client_ip import client_ip
from accounts.model_admin.audited_admin import AuditedAdmin
from accounts.model_admin.change_list import KeysetChangeList, UncountedChangeList, since_filter
from accounts.models import ApiKey, AuditEvent, IdempotentRequest, JobFailure, Member, User
from accounts.people import companies
from config.input import form_fields

ACTIONS = {
    "add": _("may add"),
    "change": _("may change"),
    "delete": _("may delete"),
    "view": _("may view"),
}


if TYPE_CHECKING:
    FieldBase = forms.ModelMultipleChoiceField[Permission]
else:  # generic in the stubs alone
    FieldBase = forms.ModelMultipleChoiceField


class PermissionsField(FieldBase):
    def label_from_instance(self, permission: Any) -> str:
        kind, action = permission.content_type, permission.codename.partition("_")[0]
        if action not in ACTIONS or kind.app_label not in apps.app_configs:
            return str(permission)
        app = apps.get_app_config(kind.app_label).verbose_name
        model = kind.model_class()
        name = model._meta.verbose_name_plural if model else kind.model  # noqa: SLF001
        return f"{app} · {capfirst(str(name))} · {ACTIONS[action]}"


def _named_models() -> list[ContentType]:
    """The others are internal tables, which no page asks a permission for."""
    named = [one for one in apps.get_models() if isinstance(one._meta.verbose_name, Promise)]  # noqa: SLF001
    return list(ContentType.objects.get_for_models(*named).values())


class TranslatedPermissions:
    """For admins whose form has permissions: Django stores their names in English."""

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionsField
            kwargs["queryset"] = Permission.objects.filter(content_type__in=_named_models())
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]


if TYPE_CHECKING:
    Base = admin.ModelAdmin[Any]
    InlineBase = admin.TabularInline[Any, Any]
    UserBase = DjangoUserAdmin[Any]
else:  # generic in the stubs alone
    Base, InlineBase, UserBase = admin.ModelAdmin, admin.TabularInline, DjangoUserAdmin


# What operators type is read as from anybody else.
FORM_FIELDS: Mapping[Any, dict[str, Any]] = {
    models.CharField: {"form_class": form_fields.LineField},
    models.SlugField: {"widget": AdminTextInputWidget},  # has a form class of its own
    models.TextField: {"form_class": form_fields.TextField},
    models.DateField: {"form_class": form_fields.DayField},
    models.DateTimeField: {"form_class": form_fields.SplitMomentField},
    models.IntegerField: {"form_class": form_fields.IntegerField},
    ArrayField: {"form_class": form_fields.LinesField},
    models.BigIntegerField: {"form_class": form_fields.IntegerField},
}


class FormFields(Base):
    formfield_overrides: ClassVar[Any] = FORM_FIELDS


class ChosenRow(AutocompleteSelect):
    """Shows a choice that no row can be as none; Django looks for it as it is."""

    def optgroups(self, name: str, value: Any, attr: dict[str, Any] | None = None) -> Any:
        try:
            return super().optgroups(name, value, attr)
        except (ValueError, ValidationError):
            return super().optgroups(name, [], attr)


class Autocompletion:
    """For admins and inlines."""

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest | None, **kwargs: Any
    ) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):  # type: ignore[attr-defined]
            kwargs["widget"] = ChosenRow(db_field, self.admin_site)  # type: ignore[attr-defined]
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]


class ModelAdmin(Autocompletion, FormFields):
    list_per_page = 50
    sortable_by = ()  # another order would read the whole table
    show_facets = admin.ShowFacets.NEVER  # and so would counting per filter

    changelist: type[UncountedChangeList] = KeysetChangeList
    search_has_index = False

    def is_found_by_index(self, text: str) -> bool:
        """Whether a search for this text reads the rows that it finds and no others."""
        return self.search_has_index

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return self.changelist

    def response_action(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Of the rows that are ticked those that can be; Django looks for all of them."""
        key, posted = self.model._meta.pk, request.POST.copy()  # noqa: SLF001
        ticked = posted.getlist(ACTION_CHECKBOX_NAME)
        posted.setlist(ACTION_CHECKBOX_NAME, [one for one in ticked if _is_value(key, one)])
        request.POST = posted  # type: ignore[assignment]
        return super().response_action(request, *args, **kwargs)


def _is_value(field: Any, text: str) -> bool:
    try:
        field.clean(text, None)
    except ValidationError:
        return False
    return True


class ReadOnlyMixin:
    """History: nobody adds, changes or deletes rows by hand."""

    def has_add_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Model | None = None) -> bool:
        return False


class ReadOnlyAdmin(ReadOnlyMixin, ModelAdmin):
    pass


class ReadOnlyInline(ReadOnlyMixin, InlineBase):
    extra = 0
    can_delete = False
    show_change_link = True


PRIVILEGE_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")


@admin.register(User)
class UserAdmin(AuditedAdmin, TranslatedPermissions, ModelAdmin, UserBase):
    list_display = ("email", "name", "language", "is_staff", "is_active", "date_joined")
    list_filter = ("is_staff", "is_active", "language")
    search_fields = ("email__istartswith", "name")
    ordering = ("-date_joined",)
    form = UserChangeForm
    add_form = AdminUserCreationForm
    fieldsets = (
        (None, {"fields": ("email", "password", "name", "language")}),
        (
            _("Permissions"),
            {
                "fields": (
                    "is_active",
                    "is_staff",
                    "desk_from_provider",
                    "is_superuser",
                    "groups",
                    "user_permissions",
                )
            },
        ),
        (_("Important dates"), {"fields": ("last_login", "date_joined")}),
    )
    add_fieldsets = (
        (
            None,
            {
                "classes": ("wide",),
                "fields": ("email", "usable_password", "password1", "password2"),
            },
        ),
    )
    readonly_fields = ("desk_from_provider", "last_login", "date_joined")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Only superusers grant privileges: permission to change users is not enough."""
        fields = tuple(super().get_readonly_fields(request, obj))
        is_allowed = isinstance(request.user, User) and request.user.is_superuser
        return fields if is_allowed else (*fields, *PRIVILEGE_FIELDS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and may_change_user(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and may_change_user(request, obj)


def may_change_user(request: HttpRequest, person: User | None) -> bool:
    """Whoever changes an account can open it, so an operator's takes all rights of that operator;
    those of one who is switched off cannot be compared.
    """
    user = operator(request)
    if user.is_superuser or person is None:
        return True
    if person.is_superuser or not person.is_staff:
        return not person.is_superuser
    return person.is_active and person.get_all_permissions() <= user.get_all_permissions()


@admin.register(Member)
class MemberAdmin(AuditedAdmin, ModelAdmin):
    list_display = ("user", "company", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "company")
    search_fields = ("user__email__istartswith", "company__name__istartswith")
    autocomplete_fields = ("user", "company")
    readonly_fields = ("from_provider",)  # the next sign-in would undo a change of the role
    ordering = ("-created_at",)


@admin.register(ApiKey)
class ApiKeyAdmin(ReadOnlyAdmin):
    list_display = (
        "__str__",
        "name",
        "company",
        "mode",
        "last_used_at",
        "expires_at",
        "revoked_at",
    )
    list_filter = ("mode", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    search_fields = ("prefix__startswith", "=last4", "company__name__istartswith")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description=_("Revoke"), permissions=["revoke"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        active = list(keys.active().select_related("company"))  # type: ignore[attr-defined]
        for key in active:
            companies.revoke_api_key(key=key, user=operator(request), ip=_ip(request))
        text = ngettext("%(n)d key revoked.", "%(n)d keys revoked.", len(active))
        self.message_user(request, text % {"n": len(active)}, messages.SUCCESS)

    def has_revoke_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_apikey")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "actor", "what", "on_what", "values", "ip")
    fields = ("created_at", "company", "actor", "user", "what", "on_what", "values", "ip")
    list_filter = (since_filter("created_at"),)
    list_select_related = ("company", "user")
    search_fields = (
        "action__startswith",
        "=company__id",
        "company__name__istartswith",
        "user__email__istartswith",
        "actor__istartswith",
        "=ip",
    )
    search_help_text = _("Action, company's name or number, user's e-mail, IP address")
    ordering = ("-id",)

    @admin.display(description=_("action"))
    def what(self, event: AuditEvent) -> str:
        return f"{audit.label(event.action)} ({event.action})"

    @admin.display(description=_("subject"))
    def on_what(self, event: AuditEvent) -> str:
        return audit.subject(event)

    @admin.display(description=_("old and new values"))
    def values(self, event: AuditEvent) -> str:
        changes = audit_log.of_event(event)
        return format_html_join("", "<div>{}</div>", ((str(one),) for one in changes)) or "—"


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "mode", "path", "key", "status")
    list_filter = ("mode", since_filter("created_at"))
    list_select_related = ("company",)
    search_fields = ("key__startswith", "=company__id")
    exclude = ("request_hash",)
    ordering = ("-created_at",)


@admin.register(JobFailure)
class JobFailureAdmin(ReadOnlyAdmin):
    list_display = ("failed_at", "what", "company", "subject", "tries", "error", "gave_up_at")
    list_select_related = ("company",)
    search_fields = ("=company__id", "subject__startswith")
    ordering = ("-failed_at",)
    actions = ("try_again",)

    @admin.display(description=_("job"))
    def what(self, failure: JobFailure) -> str:
        return str(jobs.title_of(failure.job))

    def has_retry_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("accounts.change_jobfailure")

    @admin.action(description=_("Try again now"), permissions=["retry"])
    @transaction.atomic
    def try_again(self, request: HttpRequest, rows: QuerySet[JobFailure]) -> None:
        """The next run of each job finds its work as new."""
        user, ip = operator(request), _ip(request)
        for failure in rows:
            record("job.retried", failure, company=failure.company, user=user, ip=ip)
        rows.delete()


def operator(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - the admin lets nobody else in
    return request.user


def _ip(request: HttpRequest) -> str:
    return client_ip(request.META)
