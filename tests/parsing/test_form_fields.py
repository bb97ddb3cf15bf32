"""Every text field of every form judges the length before anything that takes longer."""

import time
from collections.abc import Iterator
from contextlib import suppress

import pytest
from django import forms
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.urls import get_resolver

from cabinet.forms import AddressesField, CompanyForm, CountryCodesField, ListField, SignupForm
from parsing.form_fields import SplitField, TextField

LONG_TEXT = "a" + "\u0315\u0300" * 15_000  # marks in an order that NFKC has to change
QUICK = 0.3  # seconds of the processor; the marks alone take three times as long


def text_fields() -> Iterator[tuple[str, forms.CharField]]:
    """The text fields of all forms that the pages import."""
    get_resolver().url_patterns  # noqa: B018 - imports every page
    waiting = [forms.BaseForm]
    met = set[type]()
    while waiting:
        form = waiting.pop()
        if form in met:
            continue
        met.add(form)
        waiting += form.__subclasses__()
        for name, field in getattr(form, "base_fields", {}).items():
            if isinstance(field, forms.CharField) and field.max_length is not None:
                yield f"{form.__module__}.{form.__qualname__}.{name}", field


def seconds_to_judge(field: forms.CharField) -> float:
    began = time.thread_time()
    with suppress(ValidationError):
        field.clean(LONG_TEXT)
    return time.thread_time() - began


def test_text_too_long_is_refused_before_it_is_composed() -> None:
    fields = dict(text_fields())

    slow = [name for name, field in fields.items() if seconds_to_judge(field) > QUICK]

    assert slow == []
    assert len(fields) > 50
    signs_up = f"{SignupForm.__module__}.{SignupForm.__qualname__}.company"
    assert {signs_up, signs_up.replace("SignupForm", CompanyForm.__name__)} <= fields.keys()


def test_words_are_bounded_by_their_text() -> None:
    """A key of 2,000 networks took 13 to 65 ms a call, before the rate was counted."""
    split = [field for _name, field in text_fields() if isinstance(field, SplitField)]

    for field in split:
        with pytest.raises(ValidationError) as refused:
            field.clean("RU " * (field.max_length or 0))
        assert refused.value.code == "max_length"
    assert {type(field) for field in split} >= {ListField, AddressesField, CountryCodesField}


def test_every_list_field_bounds_its_items() -> None:
    """Whose `to_python` makes a list: Django counts its items as characters. The forms that the
    admin makes once they are shown bound each item as well.
    """
    bounded = (SplitField, SimpleArrayField)
    fields = [(name, field) for name, field in text_fields() if not isinstance(field, bounded)]

    assert [name for name, field in fields if isinstance(_read(field), list)] == []


def _read(field: forms.CharField) -> object:
    with suppress(ValidationError):
        return field.to_python("RU")
    return None


def test_line_end_counts_as_in_the_browser() -> None:
    field = TextField(max_length=5)

    assert field.clean("ab\r\nc") == "ab\nc"
    assert field.clean("a\r\nb\r\nc") == "a\nb\nc"
