"""The page of a company's settings; each section is saved separately."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from django.conf import settings as conf
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import AuditEvent, Company
from accounts.people import companies, planned_deletion
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
)
from accounts.people.companies import StaleSettingsError, settings_version
from accounts.security import reauthentication
from cabinet import audit_log
from cabinet.settings_forms import SECTIONS, SectionForm


@dataclass(frozen=True, slots=True)
class Conflict:
    """A change that somebody else has saved in a section since its form was opened."""

    event: AuditEvent | None
    values: list[audit_log.FieldChange]  # from this form's values to the stored ones


@dataclass(frozen=True, slots=True)
class Section:
    form: SectionForm
    version: str
    can_change: bool
    overwritten: Conflict | None = None
    is_unsaved: bool = False  # has values that were filled in for the person and are not saved

    @property
    def slug(self) -> str:
        return self.form.slug

    @property
    def tag(self) -> str:
        """The tag of the message that says that the section was saved."""
        return f"section-{self.slug}"


@member_required(can_read_settings, can_change_settings)
def settings(request: CabinetRequest) -> HttpResponse:
    kind = SECTIONS.get(request.POST.get("section", ""))
    if kind is None:
        return _page(request, _draft(request), is_unsaved=True)
    if not _can_change(request, kind):
        raise PermissionDenied
    if "group" in request.POST:
        return _with_group(request, kind)
    form = _section_form(request, kind, request.POST)
    if not form.is_valid():
        return _page(request, form)
    if form.needs_confirmation:
        reauthentication.require(request, form)
    return _save(request, form)


def _section_form(
    request: CabinetRequest, kind: type[SectionForm], *args: Any, **more: Any
) -> SectionForm:
    context = {"company": request.company, "user": request.user}
    return kind(*args, **context | {"sees_money": request.member.can_see_money} | more)


def _save(request: CabinetRequest, form: SectionForm) -> HttpResponse:
    try:
        companies.change_settings(
            company=request.company,
            changes=form.changes,
            version=request.POST.get("version", ""),
            **request.actor,
        )
    except StaleSettingsError as stale:
        return _page(request, form, stored=stale.stored)
    messages.success(request, _("Saved."), extra_tags=f"section-{form.slug}")
    return redirect(f"{reverse('settings')}#{form.slug}")


def _draft(request: CabinetRequest) -> SectionForm | None:
    """The form with the values that were entered before the page asked for reauthentication."""
    draft = reauthentication.draft(request)
    kinds = (
        kind for kind in SECTIONS.values() if draft and draft.keys() <= kind.base_fields.keys()
    )
    kind = next(kinds, None)
    return _section_form(request, kind, initial=draft) if kind else None


def _with_group(request: CabinetRequest, kind: type[SectionForm]) -> HttpResponse:
    """Handles a button that fills in countries without JavaScript; saves nothing."""
    form = _section_form(request, kind, request.POST)
    fill_in = getattr(form, "with_group", None)
    if fill_in is None:
        return _page(request)
    filled = _section_form(request, kind, initial=fill_in(request.POST["group"]))
    return _page(request, filled, is_unsaved=True)


def _page(
    request: CabinetRequest,
    form: SectionForm | None = None,
    *,
    stored: Company | None = None,
    is_unsaved: bool = False,
) -> HttpResponse:
    company = stored or request.company
    context = {
        "form": form,  # the invalid form, for the page's title
        "sections": list(_sections(request, company, form, stored, is_unsaved=is_unsaved)),
        "retention": retention(),
        "grace_days": planned_deletion.GRACE_PERIOD.days,
        "can_see_history": request.member.can_manage_keys,
    }
    return render(request, "cabinet/settings.html", context)


def _sections(
    request: CabinetRequest,
    company: Company,
    form: SectionForm | None,
    stored: Company | None,
    *,
    is_unsaved: bool,
) -> Iterator[Section]:
    for kind in SECTIONS.values():
        is_this = form is not None and form.slug == kind.slug
        section_form = form if form and is_this else _section_form(request, kind, company=company)
        # The submitted section keeps the version that it was opened with, until it shows that newer
        # values are stored.
        version = request.POST.get("version", "") if is_this and not stored else ""
        yield Section(
            form=section_form,
            version=version or settings_version(company, kind.stored),
            can_change=_can_change(request, kind),
            overwritten=_conflict(stored, section_form) if is_this and stored else None,
            is_unsaved=is_this and is_unsaved,
        )


def _conflict(stored: Company, form: SectionForm) -> Conflict:
    last = stored.audit.filter(action="settings.changed", changes__has_any_keys=form.stored)
    pairs = {name: [value, getattr(stored, name)] for name, value in form.changes.items()}
    differing = {name: pair for name, pair in pairs.items() if pair[0] != pair[1]}
    return Conflict(last.order_by("-created_at").first(), audit_log.field_changes(differing))


def _can_change(request: CabinetRequest, kind: type[SectionForm]) -> bool:
    member = request.member
    return member.can_manage_members if kind.is_for_owners else member.can_change_settings


def retention() -> Mapping[str, Any]:
    """The number of days for which data about recipients is stored."""
    return {
        "phones": conf.PHONE_RETENTION,
        "raw": conf.RAW_RETENTION,
        "requests": conf.REQUEST_LOG_DAYS,
    }
