"""Base classes of every `ModelAdmin`."""

from collections.abc import Iterable, Mapping
from typing import Any, ClassVar

from django import forms
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.helpers import ACTION_CHECKBOX_NAME
from django.contrib.admin.utils import flatten_fieldsets
from django.contrib.admin.widgets import AdminTextInputWidget, AutocompleteSelect
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.contrib.postgres.fields import ArrayField
from django.core.exceptions import FieldDoesNotExist, PermissionDenied, ValidationError
from django.db import models
from django.db.models import QuerySet
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import URLPattern, path
from django.utils.functional import Promise
from django.utils.text import capfirst
from django.utils.translation import gettext_lazy as _

from accounts.models import User
from accounts.people.cabinet_access import Actor
from catalogue.texts import StrOrPromise
from operator_admin.model_pages.change_list import KeysetChangeList, UncountedChangeList
from parsing import form_fields
from parsing.characters import is_line
from parsing.stale_forms import STALE_FORM, VERSION, version_of
from processes.server.client_ip import client_ip

ACTIONS = {
    "add": _("may add"),
    "change": _("may change"),
    "delete": _("may delete"),
    "view": _("may view"),
}


_ROWS = "_stored_rows"


def _rows_of(formsets: Iterable[Any]) -> list[Any]:
    return [
        [row.pk, model_to_dict(row, fields=formset.form.base_fields)]
        for formset in formsets
        for row in formset.get_queryset()
    ]


class RefusesStaleForms(admin.ModelAdmin):  # type: ignore[type-arg]
    """Refuses a form if the row or its inlines were changed since the form was opened.

    Compares the fingerprint of `parsing.stale_forms` in `templates/admin/change_form.html`.
    """

    def _create_formsets(self, request: HttpRequest, obj: Any, *args: Any, **more: Any) -> Any:
        formsets, inlines = super()._create_formsets(request, obj, *args, **more)  # type: ignore[misc]
        # Before validation, which writes the submitted values into these rows.
        setattr(request, _ROWS, _rows_of(formsets))
        return formsets, inlines

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        submitted = request.POST.get(VERSION)
        if not (change and submitted):
            return form

        class RefusingStaleForm(form):  # type: ignore[misc]
            def clean(self) -> Any:
                cleaned = super().clean()
                if submitted != version_of(self, getattr(request, _ROWS, [])):
                    raise ValidationError(STALE_FORM, code="stale")
                return cleaned

        return RefusingStaleForm

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if kwargs.get("change"):
            form = context["adminform"].form
            stored = version_of(form, getattr(request, _ROWS, []))
            context["version"] = request.POST.get(VERSION) or stored
        return super().render_change_form(request, context, *args, **kwargs)


class PermissionsField(forms.ModelMultipleChoiceField):  # type: ignore[type-arg]
    def label_from_instance(self, permission: Any) -> str:
        kind = permission.content_type
        action = permission.codename.partition("_")[0]
        if action not in ACTIONS or kind.app_label not in apps.app_configs:
            return str(permission)
        app = apps.get_app_config(kind.app_label).verbose_name
        model = kind.model_class()
        name = model._meta.verbose_name_plural if model else kind.model  # noqa: SLF001
        return f"{app} · {capfirst(str(name))} · {ACTIONS[action]}"


def _named_models() -> list[ContentType]:
    """Models with a translated name; others are internal, and no page checks their permissions."""
    models = [model for model in apps.get_models() if isinstance(model._meta.verbose_name, Promise)]  # noqa: SLF001
    return list(ContentType.objects.get_for_models(*models).values())


class TranslatedPermissions:
    """Translates permissions in forms: Django stores their names in English."""

    def formfield_for_manytomany(self, db_field: Any, request: Any = None, **kwargs: Any) -> Any:
        if db_field.related_model is Permission:
            kwargs["form_class"] = PermissionsField
            kwargs["queryset"] = Permission.objects.filter(content_type__in=_named_models())
        return super().formfield_for_manytomany(db_field, request, **kwargs)  # type: ignore[misc]


# Operators' input is parsed like any other input.
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


class FormFields(RefusesStaleForms):
    formfield_overrides: ClassVar[Any] = FORM_FIELDS


class SafeAutocompleteSelect(AutocompleteSelect):
    """Shows an empty list for a value that no key can have; Django would query for it."""

    def optgroups(self, name: str, value: Any, attr: dict[str, Any] | None = None) -> Any:
        try:
            return super().optgroups(name, value, attr)
        except (ValueError, ValidationError):
            return super().optgroups(name, [], attr)


class Autocompletion:
    """Autocompletion in admins and inlines."""

    def formfield_for_foreignkey(
        self, db_field: Any, request: HttpRequest | None, **kwargs: Any
    ) -> Any:
        if db_field.name in self.get_autocomplete_fields(request):  # type: ignore[attr-defined]
            kwargs["widget"] = SafeAutocompleteSelect(db_field, self.admin_site)  # type: ignore[attr-defined]
        return super().formfield_for_foreignkey(db_field, request, **kwargs)  # type: ignore[misc]


class ManualChanges:
    """Restricts which changes an operator with the permission may make; viewing is unaffected."""

    may_add = True
    may_change = True
    may_delete = True

    def has_add_permission(self, request: HttpRequest, *parent: Any) -> bool:
        return self.may_add and super().has_add_permission(request, *parent)  # type: ignore[misc]

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_change and super().has_change_permission(request, obj)  # type: ignore[misc]

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return self.may_delete and super().has_delete_permission(request, obj)  # type: ignore[misc]


class ModelAdmin(ManualChanges, Autocompletion, FormFields):
    list_per_page = 50
    sortable_by = ()  # another order would read the whole table
    show_facets = admin.ShowFacets.NEVER  # and so would counting each filter's rows

    changelist: type[UncountedChangeList] = KeysetChangeList
    search_has_index = False
    pages: ClassVar[tuple[tuple[str, str, str], ...]] = ()  # additional ones: path, name, method

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        pages = [path(url, guard(getattr(self, view)), name=name) for url, name, view in self.pages]
        *others, any_row = super().get_urls()
        return [*others, *pages, any_row]

    def find(self, rows: QuerySet[Any], text: str) -> QuerySet[Any] | None:
        """The rows found by a search; None to use Django's search."""

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Any], search_term: str
    ) -> tuple[QuerySet[Any], bool]:
        text = search_term.strip()
        if not is_line(text):  # no row contains control characters, and PostgreSQL may refuse them
            return queryset.none(), False
        rows = self.find(queryset, text) if text else queryset
        if rows is None:
            return super().get_search_results(request, queryset, search_term)
        return rows, False

    def is_found_by_index(self, text: str) -> bool:
        """Whether an index finds this text, without reading other rows."""
        return self.search_has_index

    def lookup_allowed(self, lookup: str, value: Any, request: HttpRequest) -> bool:
        """Refuses filters on hidden columns, which could reveal their values step by step."""
        offered = [entry[0] if isinstance(entry, tuple) else entry for entry in self.list_filter]
        names = {*flatten_fieldsets(self.get_fieldsets(request)), *self.list_display, *offered}
        try:
            column = self.opts.get_field(lookup.partition("__")[0])
        except FieldDoesNotExist:  # one of our own filters
            return super().lookup_allowed(lookup, value, request)
        is_shown = column is self.opts.pk or column.name in names
        return is_shown and super().lookup_allowed(lookup, value, request)

    def get_changelist(self, request: HttpRequest, **kwargs: Any) -> type[UncountedChangeList]:
        return self.changelist

    def response_action(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Runs an action on the selected rows, without keys that cannot exist.

        Django would query for them. It also accepts rows of other pages, which our pages do not
        offer.
        """
        key = self.model._meta.pk  # noqa: SLF001
        posted = request.POST.copy()
        selected = posted.getlist(ACTION_CHECKBOX_NAME)
        posted.setlist(ACTION_CHECKBOX_NAME, [text for text in selected if _is_value(key, text)])
        posted["select_across"] = "0"
        request.POST = posted  # type: ignore[assignment]
        return super().response_action(request, *args, **kwargs)


def _is_value(field: Any, text: str) -> bool:
    try:
        field.clean(text, None)
    except ValidationError:
        return False
    return True


class ReadOnlyAdmin(ModelAdmin):
    """A read-only history."""

    may_add = False
    may_change = False
    may_delete = False


class ActionAdmin(ReadOnlyAdmin):
    """Rows that are changed only by custom pages and actions."""

    def has_handle_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm(f"{self.opts.app_label}.change_{self.opts.model_name}")

    def require_handling(self, request: HttpRequest) -> None:
        if not self.has_handle_permission(request):
            raise PermissionDenied

    def page(
        self,
        request: HttpRequest,
        template: str,
        title: StrOrPromise,
        context: dict[str, Any],
        original: models.Model | None = None,
    ) -> HttpResponse:
        """A custom page about one row (`original`) or about all."""
        shared = {"title": title, "opts": self.opts, "original": original}
        context = self.admin_site.each_context(request) | shared | context
        return render(request, f"admin/billing/{template}.html", context)


class ReadOnlyInline(ManualChanges, admin.TabularInline):  # type: ignore[type-arg]
    may_add = False
    may_change = False
    may_delete = False
    extra = 0
    can_delete = False
    show_change_link = True


def operator(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - the admin lets nobody else in
    return request.user


def actor(request: HttpRequest) -> Actor:
    return Actor(user=operator(request), ip=client_ip(request.META))
