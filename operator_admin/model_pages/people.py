"""Admin of users, second factors and identities: operators reset them, but see no secrets."""

from typing import Any

from allauth.account.admin import EmailAddressAdmin as AllauthEmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin, messages
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.admin import UserAdmin as DjangoUserAdmin
from django.contrib.auth.forms import AdminUserCreationForm, UserChangeForm
from django.contrib.auth.models import Group
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import Model, Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html_join
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts import audit, jobs, key_issuing
from accounts.models import ApiKey, AuditEvent, JobFailure, Member, User
from accounts.oidc import identities
from accounts.people import members
from accounts.security import notifications, sessions
from accounts.sign_in import addresses, mfa
from api.models import IdempotentRequest
from cabinet import audit_log
from identity_hooks.models import Hook
from operator_admin.model_pages.audited_admin import AuditedAdmin
from operator_admin.model_pages.bases import (
    ActionAdmin,
    FormFields,
    ModelAdmin,
    ReadOnlyAdmin,
    TranslatedPermissions,
    actor,
    operator,
)
from operator_admin.model_pages.change_list import since_filter

admin.site.unregister(Authenticator)  # allauth's own page would show the secret
admin.site.unregister(EmailAddress)  # allauth's page is not audited
admin.site.unregister([SocialAccount, SocialApp, SocialToken])  # an identity can open an account


def _may_change_owner(request: HttpRequest, obj: Any) -> bool:
    return may_change_user(request, obj.user if obj is not None else None)


@admin.register(EmailAddress)
class EmailAddressAdmin(AuditedAdmin, FormFields, AllauthEmailAddressAdmin):
    """E-mail addresses; need `may_change_user`, since a confirmed one can open the account.

    The primary address is changed on its user's page, with everything that depends on it.
    """

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> list[str]:
        fields = [*super().get_readonly_fields(request, obj), "primary"]
        return [*fields, "user", "email"] if obj and obj.primary else fields

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user":
            operators = User.objects.filter(Q(is_staff=True) | Q(is_superuser=True))
            others = [row.pk for row in operators if not may_change_user(request, row)]
            kwargs["queryset"] = User.objects.exclude(pk__in=others)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_change_owner(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_change_owner(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # allauth's action confirms addresses without question and audit


NAMES = {
    "user": _("user"),
    "type": _("kind"),
    "created_at": _("created"),
    "last_used_at": _("last used"),
}


IDENTITY_NAMES = {
    "user": _("user"),
    "provider": _("identity provider"),
    "uid": _("identity"),
    "date_joined": _("created"),
    "last_login": _("last used"),
}


def _set_translated_names(model: type[Model], singular: Any, several: Any, fields: Any) -> None:
    """Sets names that allauth lacks; a proxy model would have other permissions."""
    options: Any = model._meta  # noqa: SLF001 - Django's documented Options API
    options.verbose_name = singular
    options.verbose_name_plural = several
    for field, name in fields.items():
        options.get_field(field).verbose_name = name


_set_translated_names(Authenticator, _("second factor"), _("second factors"), NAMES)
_set_translated_names(
    SocialAccount, _("single sign-on identity"), _("single sign-on identities"), IDENTITY_NAMES
)
admin.site.unregister(Group)  # its permissions would be in English


@admin.register(Group)
class GroupAdmin(AuditedAdmin, TranslatedPermissions, FormFields, DjangoGroupAdmin):
    """Groups, for superusers only: others could give their own group every permission."""

    def has_add_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return operator(request).is_superuser

    has_change_permission = has_add_permission
    has_delete_permission = has_add_permission


class OwnedAdmin(ModelAdmin):
    """A person's own settings: operators can only remove them, one at a time."""

    list_select_related = ("user",)
    search_help_text = _("E-mail address")

    may_add = False
    may_change = False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_change_owner(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # each removal is confirmed on its own page


@admin.register(Authenticator)
class AuthenticatorAdmin(OwnedAdmin):
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    search_fields = ("user__email__istartswith",)
    ordering = ("-created_at",)
    exclude = ("data",)

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        audit.record("factor.reset", f"{obj.user} {obj.type}", company=None, **actor(request))
        mfa.remove(obj)
        sessions.end_all(obj.user)
        notifications.post_to_user("admin.changed", obj.user)


@admin.register(SocialAccount)
class IdentityAdmin(OwnedAdmin):
    """Identities. Operators cannot add one, which would open any account to them."""

    list_display = ("user", "provider", "uid", "date_joined", "last_login")
    search_fields = ("user__email__istartswith", "=uid")
    ordering = ("-date_joined",)
    exclude = ("extra_data",)

    def delete_model(self, request: HttpRequest, obj: SocialAccount) -> None:
        identities.remove(obj, request=request, operator=operator(request))
        notifications.post_to_user("admin.changed", obj.user)


class WarnsOfOwners(ModelAdmin):
    """Warns before a company loses its only owner: nobody could invite the next one."""

    membership = "pk"  # Member's field with what the page deletes

    def get_deleted_objects(self, objs: Any, request: HttpRequest) -> Any:
        if "post" not in request.POST:
            of_deleted = {f"{self.membership}__in": [row.pk for row in objs]}
            for member in Member.objects.filter(**of_deleted).select_related("user", "company"):
                if members.is_only_owner(member):
                    names = {"who": member.user.email, "company": member.company.quoted_name}
                    text = _("%(who)s is the only owner of “%(company)s”.")
                    messages.warning(request, text % names)
        return super().get_deleted_objects(objs, request)


PRIVILEGE_FIELDS = ("is_staff", "is_superuser", "groups", "user_permissions")


class FreeAddress:
    cleaned_data: Any
    instance: User

    def clean_email(self) -> str:
        email: str = self.cleaned_data["email"]
        confirmed = EmailAddress.objects.filter(addresses.is_of(email), verified=True)
        if confirmed.exclude(user=self.instance.pk).exists():
            raise ValidationError(_("It belongs to another account"))
        return email


class UserForm(FreeAddress, UserChangeForm):  # type: ignore[type-arg]
    pass


class NewUserForm(FreeAddress, AdminUserCreationForm):  # type: ignore[type-arg]
    pass


@admin.register(User)
class UserAdmin(AuditedAdmin, TranslatedPermissions, WarnsOfOwners, DjangoUserAdmin):  # type: ignore[type-arg]
    membership = "user"
    list_display = ("email", "name", "language", "is_staff", "is_active", "date_joined")
    list_filter = ("is_staff", "is_active", "language")
    search_fields = ("email__istartswith", "name")
    ordering = ("-date_joined",)
    form = UserForm
    add_form = NewUserForm
    fieldsets = (
        (None, {"fields": ("email", "password", "name", "language")}),
        (
            _("Permissions"),
            {"fields": ("is_active", "is_staff", "is_staff_from_provider", *PRIVILEGE_FIELDS[1:])},
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
    readonly_fields = ("is_staff_from_provider", "last_login", "date_joined")

    def get_readonly_fields(self, request: HttpRequest, obj: Any = None) -> tuple[Any, ...]:
        """Only superusers grant privileges: permission to change users is not enough."""
        fields = tuple(super().get_readonly_fields(request, obj))
        is_allowed = isinstance(request.user, User) and request.user.is_superuser
        return fields if is_allowed else (*fields, *PRIVILEGE_FIELDS)

    def save_model(self, request: HttpRequest, obj: User, form: Any, change: Any) -> None:
        is_moved = change and "email" in form.changed_data
        if is_moved:
            notifications.post_to_user("admin.changed", obj)  # still to the old mailbox
        super().save_model(request, obj, form, change)
        if is_moved or not change:
            addresses.replace_primary(obj, form.initial.get("email", obj.email))
        is_switched_off = "is_active" in form.changed_data and not obj.is_active
        if is_switched_off or (is_moved and obj != request.user):
            sessions.end_all(obj)  # if disabled, too: they would continue once it is enabled

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and may_change_user(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and may_change_user(request, obj)


def may_change_user(request: HttpRequest, user: User | None) -> bool:
    """Whether this operator may change the user's account.

    An operator who changes an account can open it, so changing another operator's needs all of that
    operator's permissions. Those of a disabled account cannot be compared.
    """
    acting = operator(request)
    if acting.is_superuser or user is None:
        return True
    if user.is_superuser or not user.is_staff:
        return not user.is_superuser
    return user.is_active and user.get_all_permissions() <= acting.get_all_permissions()


@admin.register(Member)
class MemberAdmin(AuditedAdmin, WarnsOfOwners):
    list_display = ("user", "company", "role", "created_at")
    list_filter = ("role",)
    list_select_related = ("user", "company")
    search_fields = ("user__email__istartswith", "company__name__istartswith")
    autocomplete_fields = ("user", "company")
    readonly_fields = ("from_provider",)  # the next sign-in would undo a change of the role
    ordering = ("-created_at",)


@admin.register(ApiKey)
class ApiKeyAdmin(ActionAdmin):
    list_display = (
        *("__str__", "name", "company", "mode", "purpose", "last_used_at", "expires_at"),
        "revoked_at",
    )
    list_filter = (
        "mode",
        ("revoked_at", admin.EmptyFieldListFilter),
        ("purpose", admin.EmptyFieldListFilter),
    )
    list_select_related = ("company",)
    search_fields = ("prefix__startswith", "=last4", "company__name__istartswith")
    exclude = ("digest",)
    actions = ("revoke",)

    @admin.action(description=_("Revoke"), permissions=["handle"])
    def revoke(self, request: HttpRequest, keys: QuerySet[ApiKey]) -> None:
        active = list(keys.active().select_related("company"))  # type: ignore[attr-defined]
        for key in active:
            key_issuing.revoke_api_key(key=key, **actor(request))
        text = ngettext("%(n)d key revoked.", "%(n)d keys revoked.", len(active))
        self.message_user(request, text % {"n": len(active)}, messages.SUCCESS)


@admin.register(Hook)
class HookAdmin(ReadOnlyAdmin):
    """Identity servers of companies."""

    list_display = ("name", "company", "kind", "mode", "purpose", "last_used_at", "revoked_at")
    list_filter = ("kind", "mode", ("revoked_at", admin.EmptyFieldListFilter))
    list_select_related = ("company",)
    search_fields = ("name__istartswith", "company__name__istartswith")
    exclude = ("secret", "previous_secret")


@admin.register(AuditEvent)
class AuditEventAdmin(ReadOnlyAdmin):
    list_display = (
        "created_at",
        "company",
        "actor",
        "action_name",
        "subject_name",
        "values",
        "ip",
    )
    fields = (
        "created_at",
        "company",
        "actor",
        "user",
        "action_name",
        "subject_name",
        "values",
        "ip",
    )
    list_filter = (since_filter("created_at"),)
    list_select_related = ("company", "user")
    search_fields = (
        *("action__startswith", "=company__id", "company__name__istartswith"),
        *("user__email__istartswith", "actor__istartswith", "=ip"),
    )
    search_help_text = _("Action, company's name or number, user's e-mail, IP address")
    ordering = ("-id",)

    @admin.display(description=_("action"))
    def action_name(self, event: AuditEvent) -> str:
        return f"{audit.label(event.action)} ({event.action})"

    @admin.display(description=_("subject"))
    def subject_name(self, event: AuditEvent) -> str:
        return audit.subject(event)

    @admin.display(description=_("old and new values"))
    def values(self, event: AuditEvent) -> str:
        changes = audit_log.event_changes(event)
        return format_html_join("", "<div>{}</div>", ((str(change),) for change in changes)) or "—"


@admin.register(IdempotentRequest)
class IdempotentRequestAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "mode", "path", "key", "status")
    list_filter = ("mode", since_filter("created_at"))
    list_select_related = ("company",)
    search_fields = ("key__startswith", "=company__id")
    exclude = ("request_hash",)
    ordering = ("-created_at",)


@admin.register(JobFailure)
class JobFailureAdmin(ActionAdmin):
    list_display = ("failed_at", "job_title", "company", "subject", "tries", "error", "gave_up_at")
    list_select_related = ("company",)
    search_fields = ("=company__id", "subject__startswith")
    ordering = ("-failed_at",)
    actions = ("try_again",)

    @admin.display(description=_("job"))
    def job_title(self, failure: JobFailure) -> str:
        return str(jobs.title_of(failure.job))

    @admin.action(description=_("Try again now"), permissions=["handle"])
    @transaction.atomic
    def try_again(self, request: HttpRequest, rows: QuerySet[JobFailure]) -> None:
        """Deletes the failures, so that each job's next run tries again."""
        for failure in rows:
            audit.record("job.retried", failure, company=failure.company, **actor(request))
        rows.delete()
