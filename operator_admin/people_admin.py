"""Admin of second factors: operators reset them for lost phones and see no secret."""

from typing import Any

from allauth.account.admin import EmailAddressAdmin as AllauthEmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts.audit import events
from accounts.client_ip import client_ip
from accounts.model_admin.admin import ModelAdmin, may_change_user, operator
from accounts.model_admin.audited_admin import AuditedAdmin
from accounts.model_admin.permission_names import TranslatedPermissions
from accounts.models import User
from accounts.security import notifications, sessions

admin.site.unregister(Authenticator)  # allauth's own page would show the secret
admin.site.unregister(EmailAddress)  # and that of addresses is not audited


def _may_touch_owner(request: HttpRequest, obj: Any) -> bool:
    return may_change_user(request, obj.user if obj is not None else None)


@admin.register(EmailAddress)
class EmailAddressAdmin(AuditedAdmin, AllauthEmailAddressAdmin):
    """An address that is confirmed here opens the account: those of administrators are theirs."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user" and not operator(request).is_superuser:
            kwargs["queryset"] = User.objects.filter(is_superuser=False)
        return super().formfield_for_foreignkey(db_field, request, **kwargs)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_change_permission(request, obj) and _may_touch_owner(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch_owner(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # the library's confirms addresses unasked and unaudited


NAMES = {
    "user": _("user"),
    "type": _("kind"),
    "created_at": _("created"),
    "last_used_at": _("last used"),
}


def _name_in_our_languages(options: Any) -> None:
    """The library has no translatable names, and a proxy model would move its permissions."""
    options.verbose_name = _("second factor")
    options.verbose_name_plural = _("second factors")
    for field, name in NAMES.items():
        options.get_field(field).verbose_name = name


_name_in_our_languages(Authenticator._meta)  # noqa: SLF001 - Django's documented Options API
admin.site.unregister(Group)  # its permissions would be in English


@admin.register(Group)
class GroupAdmin(AuditedAdmin, TranslatedPermissions, DjangoGroupAdmin):
    """Who may change a group may have every permission: put it into one's own."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return operator(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return operator(request).is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return operator(request).is_superuser


@admin.register(Authenticator)
class AuthenticatorAdmin(ModelAdmin):
    list_display = ("user", "type", "created_at", "last_used_at")
    list_select_related = ("user",)
    list_filter = ("type",)
    search_fields = ("user__email__istartswith",)
    search_help_text = _("E-mail address")
    ordering = ("-created_at",)
    exclude = ("data",)

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False  # only the person has the device

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch_owner(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # one at a time, each asked about

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        self._record(request, obj)
        super().delete_model(request, obj)
        sessions.end_all(obj.user)
        notifications.post_admin_change(obj.user)

    def _record(self, request: HttpRequest, one: Authenticator) -> None:
        events.record(
            "factor.reset",
            f"{one.user} {one.type}",
            company=None,
            user=operator(request),
            ip=client_ip(request.META),
        )
