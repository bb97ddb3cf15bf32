"""The two pages that most changes are made on: a form, and a confirmation."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from datetime import datetime
from typing import NamedTuple

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from catalogue.errors import DomainError
from catalogue.texts import StrOrPromise


class PageLink(NamedTuple):
    url: StrOrPromise
    title: StrOrPromise


class LastUse(NamedTuple):
    label: StrOrPromise
    at: datetime | None  # None: never


def form_page(
    request: HttpRequest,
    form: BaseForm,
    title: StrOrPromise,
    *,
    verb: StrOrPromise,
    back: PageLink | None = None,
    heading: StrOrPromise = "",
    lead: StrOrPromise = "",
    note: StrOrPromise = "",
) -> HttpResponse:
    """Renders a form, which names its template in `layout` if its fields are not in one column."""
    page = {"form": form, "title": title, "verb": verb, "back": back, "heading": heading}
    return render(request, "cabinet/form.html", page | {"lead": lead, "note": note})


def confirm_page(
    request: HttpRequest,
    title: StrOrPromise,
    *texts: StrOrPromise,
    verb: StrOrPromise,
    back: PageLink,
    subject: StrOrPromise = "",
    last_use: LastUse | None = None,
    warning: StrOrPromise = "",
    cancel: StrOrPromise = "",
    is_dangerous: bool = True,
    styles: Sequence[str] = (),
) -> HttpResponse:
    """Asks to confirm `verb` on `subject`; without a verb the page has no button."""
    page: dict[str, object] = {"title": title, "subject": subject, "texts": texts}
    page |= {
        "last_use": last_use,
        "warning": warning,
        "verb": verb,
        "is_dangerous": is_dangerous,
        "styles": styles,
    }
    return render(request, "cabinet/form.html", page | {"back": back, "cancel": cancel})


@contextmanager
def refusals_shown(request: HttpRequest) -> Iterator[None]:
    """Shows a refusal raised inside as a message of the next page."""
    try:
        yield
    except ValidationError as error:
        messages.error(request, " ".join(error.messages))
    except DomainError as error:
        messages.error(request, " ".join(error.texts))


@contextmanager
def refusals_on(form: BaseForm, field: str | None = None) -> Iterator[None]:
    """Shows a refusal raised inside on the form, by default at the field that it names."""
    try:
        yield
    except ValidationError as error:
        form.add_error(field, error)
    except DomainError as error:
        form.add_error(field or next(iter(error.errors or ()), None), error.texts)
