"""The budgets tab of a company's settings."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from accounts.client_ip import client_ip
from accounts.people.roles import (
    CabinetRequest,
    can_manage_members,
    can_read_settings,
    member_required,
)
from accounts.security import reauthentication
from billing.budgets import budgets, key_limits
from billing.wallet import ledger
from billing.web.budgets.forms import BudgetForm


@member_required(can_read_settings, can_manage_members)
def budget_edit(request: CabinetRequest) -> HttpResponse:
    """Shows usage and limits; owners may change the limits."""
    company = request.company
    countries = company.allowed_countries or [company.country]
    uses = budgets.usage(company.pk, sorted(set(countries)))
    form = BudgetForm(
        request.POST or None,
        uses=uses,
        any_own=budgets.own_for_any_country(company.pk),
        keys=key_limits.usage(company.pk),
        typed=reauthentication.draft(request),
    )
    if request.method == "POST" and form.is_valid():
        if form.raises():
            reauthentication.require(request, form)
        ip = client_ip(request.META)
        budgets.set_own(company=company, tokens=form.tokens(), user=request.user, ip=ip)
        key_limits.set_limits(company=company, tokens=form.limits(), user=request.user, ip=ip)
        messages.success(request, _("Budgets saved; they take effect within two seconds."))
        return redirect("budget-edit")
    available, _held = ledger.balance(company.pk)
    context = {
        "form": form,
        "most": min(available, uses[0].left),
        "is_owner": request.member.can_manage_members,
    }
    return render(request, "billing/budget_form.html", context)
