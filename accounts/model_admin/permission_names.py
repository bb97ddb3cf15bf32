"""Translated permission names: Django stores them in English at migration."""

from typing import TYPE_CHECKING, Any

from django import forms
from django.apps import apps
from django.contrib.auth.models import Permission
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

ACTIONS = {
    "add": _("may add"),
    "change": _("may change"),
    "delete": _("may delete"),
    "view": _("may view"),
}

if TYPE_CHECKING:
    Base = forms.ModelMultipleChoiceField[Permission]
else:  # generic in the stubs alone
    Base = forms.ModelMultipleChoiceField


class PermissionsField(Base):
    def label_from_instance(self, permission: Any) -> str:
        kind, action = permission.content_type, permission.codename.partition("_")[0]
        if action not in ACTIONS or kind.app_label not in apps.app_configs:
            return str(permission)
        app = apps.get_app_config(kind.app_label).verbose_name
        model = kind.model_class()
        name = model._meta.verbose_name_plural if model else kind.model  # noqa: SLF001
        return f"{app} · {capfirst(str(name))} · {ACTIONS[action]}"


class TranslatedPermissions:
    """A mixin for admins whose form has a permissions field."""

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionsField
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]
