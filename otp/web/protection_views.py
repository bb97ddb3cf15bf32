"""The cabinet's page of the protection against SMS pumping, and its forms."""

import re

from django import forms
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, QueryDict
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.html import format_html
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_GET, require_POST

from accounts.form_pages import PageLink, confirm_page
from accounts.models import Company, GuardMode
from accounts.people import countries
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
    nobody,
)
from billing.budgets import budgets
from billing.wallet import ledger
from catalogue.errors import DomainError
from channels import phone_numbers
from channels.guard.scope_evidence import CUTS, GuardScope, ScopeKind
from channels.phone_numbers import country_of
from otp.models import GuardReplay, GuardRestriction
from otp.protection import notifications, restrictions, week_replay
from parsing import clipboard
from parsing.stale_forms import RefusesStaleForm

HIDDEN = "•"  # stands for digits in a range shown on this page
KIND_OF = {digits: kind for kind, digits in CUTS}
_RANGE = re.compile(rf"(\+[1-9][0-9]+)({HIDDEN}+|\*+)")


class ModeForm(RefusesStaleForm, forms.Form):
    mode = forms.ChoiceField(
        label=_("Mode"),
        choices=[
            (GuardMode.ENFORCE, _("Block: suspicious sends go without SMS, then are refused")),
            (
                GuardMode.WATCH,
                _("Monitoring only: nothing is held back, this page shows what would be"),
            ),
            (GuardMode.OFF, _("Off: nothing is counted, only budgets hold")),
        ],
        widget=forms.RadioSelect(attrs={"class": "form-check-input"}),
    )
    watches_others = forms.BooleanField(
        label=_("Be stricter where other companies are attacked"),
        required=False,
        help_text=_("Only for numbers where people new to you have entered almost no codes yet."),
    )


def _country_choices() -> list[tuple[str, object]]:
    _blank, *choices = countries.choices()
    return [("", _("No country")), *choices]


class LetThroughForm(forms.Form):
    number = forms.CharField(
        label=_("Any number in the range"),
        max_length=64,
        required=False,
        widget=forms.TextInput(attrs={"type": "tel", "placeholder": "+79161234567"}),
        help_text=_("All numbers that differ in the last four digits are let through."),
    )
    country = forms.ChoiceField(label=_("Country"), choices=_country_choices, required=False)

    def __init__(self, *args: object, company: Company, **kwargs: object) -> None:
        super().__init__(*args, **kwargs)  # type: ignore[arg-type]
        self.company = company
        self.of_country = ""  # country of the range
        self._scope: GuardScope | None = None

    def clean_number(self) -> str:
        """Accepts a whole number, or a range as this page shows it: +7916123••••."""
        typed = re.sub(r"[\s()\-./]", "", clipboard.plain(self.cleaned_data["number"]))
        if not typed:
            return ""
        if match := _RANGE.fullmatch(typed):
            prefix, hidden = match.groups()
            if len(hidden) not in KIND_OF:
                raise ValidationError(_("A range hides its last 2, 3, 4 or 7 digits."))
            if phone_numbers.e164_or_none(prefix + "5" * len(hidden), self.company.country) is None:
                raise ValidationError(
                    _("That is not a whole number. Hide its last digits and keep the others.")
                )
            self._scope = GuardScope(KIND_OF[len(hidden)], prefix)
            self.of_country = country_of(prefix + "0" * len(hidden))
            return typed
        try:
            number = phone_numbers.normalise(typed, self.company.country)
        except DomainError as refusal:
            raise ValidationError(str(refusal.message)) from None
        digits = dict(CUTS)[ScopeKind.TEN_THOUSAND]
        self._scope = GuardScope(ScopeKind.TEN_THOUSAND, number[:-digits])
        self.of_country = country_of(number)
        return number

    def clean(self) -> dict[str, object]:
        values = self.cleaned_data
        if not self.errors and bool(values.get("number")) == bool(values.get("country")):
            raise ValidationError(_("Give either a number or a country."))
        return values

    def scope(self) -> GuardScope:
        """The scope of the valid fields."""
        return self._scope or GuardScope(ScopeKind.COUNTRY, self.cleaned_data["country"])


HISTORY = 50  # ended restrictions


@member_required(can_read_settings)
def protection(request: CabinetRequest) -> HttpResponse:
    return _render_page(request, LetThroughForm(company=request.company))


def _render_page(request: CabinetRequest, form: LetThroughForm) -> HttpResponse:
    rows = GuardRestriction.objects.filter(company=request.company).order_by("-began_at", "-pk")
    open_now = list(rows.filter(ended_at=None).select_related("lifted_by"))
    whole_day, *_hours = budgets.usage(request.company.pk, [])
    available, _held = ledger.balance(request.company.pk)
    context = {
        "mode_form": _mode_form(request.company),
        "form": form,
        "restrictions": [row for row in open_now if row.step != GuardRestriction.Step.ALLOW],
        "let_through": [row for row in open_now if row.step == GuardRestriction.Step.ALLOW],
        "ended": rows.filter(ended_at__isnull=False).select_related("lifted_by")[:HISTORY],
        "replay": _replay(request),
        "most_lost": min(available, whole_day.left),
        "is_off": request.company.guard_mode == GuardMode.OFF,
        "is_watching": request.company.guard_mode == GuardMode.WATCH,
        "days": week_replay.DAYS,
    }
    return render(request, "cabinet/protection.html", context)


def _mode_form(company: Company, data: QueryDict | None = None) -> ModeForm:
    stored = {"mode": company.guard_mode, "watches_others": company.guard_watches_others}
    return ModeForm(data, initial=stored)


def _replay(request: CabinetRequest) -> GuardReplay | None:
    return GuardReplay.objects.filter(company=request.company).first()


@require_POST
@member_required(nobody, can_change_settings)
def protection_mode(request: CabinetRequest) -> HttpResponse:
    form = _mode_form(request.company, request.POST)
    if not form.is_valid():
        for refused in form.non_field_errors():
            messages.error(request, str(refused))
        return redirect("protection")
    company = request.company
    values = form.cleaned_data
    actor = request.actor
    changes = [
        restrictions.set_mode(company=company, mode=values["mode"], **actor),
        restrictions.watch_others(company=company, watches=values["watches_others"], **actor),
    ]
    if any(changes):
        messages.success(request, gettext("Saved; it takes effect within two seconds."))
    return redirect("protection")


@require_POST
@member_required(nobody, can_change_settings)
def protection_let_through(request: CabinetRequest) -> HttpResponse:
    form = LetThroughForm(request.POST, company=request.company)
    if not form.is_valid():
        return _render_page(request, form)
    restrictions.let_through(
        company=request.company, scope=form.scope(), country=form.of_country, **request.actor
    )
    messages.success(request, gettext("Sends there pass for an hour."))
    return redirect("protection")


@member_required(can_change_settings, can_change_settings)
def protection_lift(request: CabinetRequest, pk: int) -> HttpResponse:
    restriction = get_object_or_404(
        GuardRestriction.objects.exclude(step=GuardRestriction.Step.ALLOW),
        company=request.company,
        pk=pk,
    )
    if request.method == "POST":
        restrictions.lift(restriction=restriction, **request.actor)
        messages.success(request, gettext("Lifted: sends there pass for an hour."))
        return redirect("protection")
    if restriction.ended_at is not None:
        messages.info(request, gettext("This is over already."))
        return redirect("protection")
    return confirm_page(
        request,
        gettext("Lift the restriction"),
        gettext(
            "Codes go there as usual for an hour, and the evidence against these numbers is "
            "dropped. If codes still are not entered, sends are held back again after that."
        ),
        gettext("The day's budget and the budgets by country still apply."),
        verb=gettext("Let through for an hour"),
        back=PageLink(reverse("protection"), gettext("Protection")),
        subject=format_html(
            "<strong>{}</strong>", notifications.scope_name(restriction.kind, restriction.value)
        ),
        is_dangerous=False,
    )


@require_POST
@member_required(nobody, can_change_settings)
def protection_replay(request: CabinetRequest) -> HttpResponse:
    week_replay.request_replay(request.company)
    return redirect("protection")


@require_GET
@member_required(can_read_settings)
def protection_replay_status(request: CabinetRequest) -> HttpResponse:
    """The fragment that the page polls every two seconds while the replay runs."""
    context = {"replay": _replay(request), "days": week_replay.DAYS, "member": request.member}
    return render(request, "cabinet/protection_replay.html", context)
