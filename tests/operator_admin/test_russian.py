"""The admin in Russian: no label, column, filter, choice or action is left in English."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.apps import apps
from django.contrib import admin
from django.contrib.admin.utils import flatten_fieldsets, label_for_field
from django.contrib.auth.models import Group
from django.core.exceptions import FieldDoesNotExist
from django.utils import translation

from accounts.models import User
from catalogue.languages import message_languages
from channels.providers.vendors import VENDORS

pytestmark = pytest.mark.django_db

CYRILLIC = re.compile("[а-яё]", re.IGNORECASE)
# The same in every language.
NAMES = {"ID", "e-mail", "WhatsApp", "Telegram", "MAX", "SMS", "English"}
NAMES |= {vendor.title for vendor in VENDORS.values()}
NAMES |= {own_name for _code, own_name in message_languages.choices()}
SITE = sorted(admin.site._registry.items(), key=lambda pair: pair[0]._meta.label)


@pytest.fixture(autouse=True)
def russian() -> Iterator[None]:
    with translation.override("ru"):
        yield


def is_untranslated(text: object) -> bool:
    return bool(str(text)) and str(text) not in NAMES and not CYRILLIC.search(str(text))


def of_fields(model: Any, options: Any, names: Any) -> Iterator[object]:
    for name in names:
        if name in options.form.declared_fields:
            yield options.form.declared_fields[name].label
            continue
        yield label_for_field(name, model, options)
        try:
            field = model._meta.get_field(name)
        except FieldDoesNotExist:
            continue
        yield getattr(field, "help_text", "")  # the other end of a relation has none
        yield from (label for _value, label in getattr(field, "flatchoices", ()))


def of_filters(options: Any, request: Any) -> Iterator[object]:
    changes = options.get_changelist_instance(request)
    for spec in changes.filter_specs:
        yield spec.title
        yield from (choice["display"] for choice in spec.choices(changes))


def words_of(model: Any, options: Any, request: Any) -> Iterator[object]:
    yield apps.get_app_config(model._meta.app_label).verbose_name
    yield from (model._meta.verbose_name, model._meta.verbose_name_plural)
    yield options.search_help_text or ""
    yield from of_fields(model, options, options.get_list_display(request))
    for groups in (options.get_fieldsets(request), getattr(options, "add_fieldsets", ())):
        yield from (title or "" for title, _fields in groups)
        names = [name for name in flatten_fieldsets(groups) if "password" not in name]
        yield from of_fields(model, options, names)
    for inline in options.get_inline_instances(request):
        yield inline.model._meta.verbose_name_plural
        names = flatten_fieldsets(inline.get_fieldsets(request))
        yield from of_fields(inline.model, inline, names)
    yield from (description for _view, _name, description in options.get_actions(request).values())
    yield from of_filters(options, request)


@pytest.mark.parametrize(("model", "options"), SITE, ids=[model._meta.label for model, _ in SITE])
def test_every_admin_label_is_russian(model: Any, options: Any, request_of_operator: Any) -> None:
    result = list(words_of(model, options, request_of_operator))

    assert len(result) > 5
    assert [str(label) for label in result if is_untranslated(label)] == []


@pytest.mark.parametrize(("model", "name"), [(User, "user_permissions"), (Group, "permissions")])
def test_permissions_are_named_in_russian(model: Any, name: str, request_of_operator: Any) -> None:
    form = admin.site._registry[model].get_form(request_of_operator, model(), change=True)
    field: Any = form.base_fields[name]
    shown = {permission.content_type.model_class() for permission in field.queryset}

    labels = [label for _value, label in field.choices]

    assert shown >= {model for model, _options in SITE}
    assert "Деньги · Пополнения · смотреть" in labels
    assert [
        label for label in labels if any(is_untranslated(part) for part in label.split(" · "))
    ] == []
