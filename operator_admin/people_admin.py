"""Admin of second factors and identities: operators reset them and see no secret."""

from typing import Any

from allauth.account.admin import EmailAddressAdmin as AllauthEmailAddressAdmin
from allauth.account.models import EmailAddress
from allauth.mfa.models import Authenticator
from allauth.socialaccount.models import SocialAccount, SocialApp, SocialToken
from django.contrib import admin
from django.contrib.auth.admin import GroupAdmin as DjangoGroupAdmin
from django.contrib.auth.models import Group
from django.db.models import Model, Q
from django.http import HttpRequest
from django.utils.translation import gettext_lazy as _

from accounts import audit
from accounts.client_ip import client_ip
from accounts.model_admin.admin import (
    FormFields,
    ModelAdmin,
    TranslatedPermissions,
    may_change_user,
    operator,
)
from accounts.model_admin.audited_admin import AuditedAdmin
from accounts.models import User
from accounts.oidc import identities
from accounts.security import notifications, sessions

admin.site.unregister(Authenticator)  # allauth's own page would show the secret
admin.site.unregister(EmailAddress)  # and that of addresses is not audited
admin.site.unregister([SocialAccount, SocialApp, SocialToken])  # an identity opens the account


def _may_touch_owner(request: HttpRequest, obj: Any) -> bool:
    return may_change_user(request, obj.user if obj is not None else None)


@admin.register(EmailAddress)
class EmailAddressAdmin(AuditedAdmin, FormFields, AllauthEmailAddressAdmin):
    """An address that is confirmed here opens the account: `may_change_user`."""

    def formfield_for_foreignkey(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "user":
            desk = User.objects.filter(Q(is_staff=True) | Q(is_superuser=True))
            others = [one.pk for one in desk if not may_change_user(request, one)]
            kwargs["queryset"] = User.objects.exclude(pk__in=others)
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


IDENTITY_NAMES = {
    "user": _("user"),
    "provider": _("identity provider"),
    "uid": _("identity"),
    "date_joined": _("created"),
    "last_login": _("last used"),
}


def _name_in_our_languages(model: type[Model], one: Any, several: Any, fields: Any) -> None:
    """The library has no names of ours, and a proxy model would move its permissions."""
    options: Any = model._meta  # noqa: SLF001 - Django's documented Options API
    options.verbose_name, options.verbose_name_plural = one, several
    for field, name in fields.items():
        options.get_field(field).verbose_name = name


_name_in_our_languages(Authenticator, _("second factor"), _("second factors"), NAMES)
_name_in_our_languages(
    SocialAccount, _("single sign-on identity"), _("single sign-on identities"), IDENTITY_NAMES
)
admin.site.unregister(Group)  # its permissions would be in English


@admin.register(Group)
class GroupAdmin(AuditedAdmin, TranslatedPermissions, FormFields, DjangoGroupAdmin):
    """Who may change a group may have every permission: put it into one's own."""

    def has_add_permission(self, request: HttpRequest) -> bool:
        return operator(request).is_superuser

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return operator(request).is_superuser

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return operator(request).is_superuser


class OwnedAdmin(ModelAdmin):
    """Of what a person set up: an operator adds and changes none, and removes one at a time."""

    list_select_related = ("user",)
    search_help_text = _("E-mail address")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return False

    def has_change_permission(self, request: HttpRequest, obj: object = None) -> bool:
        return False

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return super().has_delete_permission(request, obj) and _may_touch_owner(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        return {}  # each is asked about


@admin.register(Authenticator)
class AuthenticatorAdmin(OwnedAdmin):
    list_display = ("user", "type", "created_at", "last_used_at")
    list_filter = ("type",)
    search_fields = ("user__email__istartswith",)
    ordering = ("-created_at",)
    exclude = ("data",)

    def delete_model(self, request: HttpRequest, obj: Authenticator) -> None:
        user, ip = operator(request), client_ip(request.META)
        audit.record("factor.reset", f"{obj.user} {obj.type}", company=None, user=user, ip=ip)
        super().delete_model(request, obj)
        sessions.end_all(obj.user)
        notifications.post_to_user("admin.changed", obj.user)


@admin.register(SocialAccount)
class IdentityAdmin(OwnedAdmin):
    """Connected by the person alone: whoever could add one here could open any account."""

    list_display = ("user", "provider", "uid", "date_joined", "last_login")
    search_fields = ("user__email__istartswith", "=uid")
    ordering = ("-date_joined",)
    exclude = ("extra_data",)

    def delete_model(self, request: HttpRequest, obj: SocialAccount) -> None:
        identities.remove(obj, request=request, operator=operator(request))
        notifications.post_to_user("admin.changed", obj.user)
