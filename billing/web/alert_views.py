"""Adding and removing a company's further alerts about its balance."""

from typing import Any

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy
from django.views.decorators.http import require_POST

from accounts.people.roles import CabinetRequest, can_manage_money, can_see_money, member_required
from billing.models import BalanceAlert
from billing.wallet import balance_alerts
from cabinet.form_fields import GroupedIntegerField
from catalogue.errors import DomainError

Kind = BalanceAlert.Kind
MOST = {Kind.TOKENS: 10**12, Kind.DAYS: balance_alerts.LONGEST_DAYS, Kind.BUDGET: 100}


class BalanceAlertForm(forms.Form):
    kind = forms.ChoiceField(label=gettext_lazy("What to watch"), choices=Kind.choices)
    level = GroupedIntegerField(
        label=gettext_lazy("Level"),
        min_value=1,
        help_text=gettext_lazy(
            "You get an e-mail when tokens or days fall below this level, or when the used share "
            "of the budget reaches it."
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        kind, level = cleaned.get("kind"), cleaned.get("level")
        if kind and level and level > MOST[Kind(kind)]:
            text = _("At most %(most)s for this alert.") % {"most": MOST[Kind(kind)]}
            self.add_error("level", text)
        return cleaned


@require_POST
@member_required(can_see_money, can_manage_money)
def alert_add(request: CabinetRequest) -> HttpResponse:
    form = BalanceAlertForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(e[0]) for e in form.errors.values()))
        return redirect("balance")
    try:
        balance_alerts.add(
            company=request.company,
            **request.actor,
            **form.cleaned_data,
        )
    except DomainError as error:
        messages.error(request, " ".join(str(error) for error in (error.errors or {})["level"]))
    else:
        messages.success(request, _("Alert added."))
    return redirect("balance")


@require_POST
@member_required(can_see_money, can_manage_money)
def alert_remove(request: CabinetRequest, pk: int) -> HttpResponse:
    alert = get_object_or_404(BalanceAlert, pk=pk, company=request.company)
    balance_alerts.remove(alert=alert, **request.actor)
    messages.success(request, _("Alert removed."))
    return redirect("balance")
