"""The page of automatic top-ups."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_POST

from accounts.client_ip import client_ip
from accounts.people.roles import CabinetRequest, can_manage_money, can_see_money, member_required
from accounts.security import reauthentication
from billing.gateways import registry
from billing.models import AutoTopUp, MethodSaving, SavedMethod
from billing.orders import auto_top_up, billing_profiles, orders, prices, saved_methods
from billing.orders.prices import Quote
from billing.web.auto_top_up.forms import AutoTopUpForm
from config.errors import DomainError


@member_required(can_see_money, can_manage_money)
def automatic(request: CabinetRequest) -> HttpResponse:
    """Shows the terms and the saved method; a POST agrees to new terms."""
    company = request.company
    setting = AutoTopUp.objects.select_related("package").filter(company=company).first()
    currency = prices.currency_of(billing_profiles.for_company(company))
    form = AutoTopUpForm(
        request.POST or None,
        setting=setting,
        currency=currency,
        typed=reauthentication.draft(request),
    )
    if request.method == "POST" and form.is_valid():
        reauthentication.require(request, form)
        return _agreed(request, form)
    saved = SavedMethod.objects.filter(company=company).first()
    quote = auto_top_up.quote_of(setting) if setting else None
    context = {
        "form": form,
        "setting": setting,
        "saved": saved,
        "saved_by": registry.title(saved.gateway) if saved else "",
        "quote": quote,
        "is_saving": MethodSaving.objects.filter(order__company=company).exists(),
        "needs_method": setting is not None and _needs_method(setting),
        "spent": auto_top_up.spent_this_month(company.pk, setting.currency) if setting else 0,
        "recent": auto_top_up.last_orders(company.pk),
    }
    return render(request, "billing/auto_top_up.html", context)


def _needs_method(setting: AutoTopUp) -> bool:
    gateway = registry.find(setting.gateway)
    if gateway is None or not gateway.saves_methods:
        return False
    return auto_top_up.method_for(setting.company_id, gateway) is None


def _agreed(request: CabinetRequest, form: AutoTopUpForm) -> HttpResponse:
    setting = saved_methods.agree(
        company=request.company, user=request.user, terms=form.terms(), ip=client_ip(request.META)
    )
    if not _needs_method(setting):
        messages.success(request, _("Automatic top-ups are on."))
        return redirect("balance-automatic")
    return _pay_first(request, form.cleaned_data["quote"], setting.gateway)


def _pay_first(request: CabinetRequest, quote: Quote | None, gateway_name: str) -> HttpResponse:
    """To the page of an order whose payment saves its method; it starts nothing by itself."""
    gateway = registry.find(gateway_name)
    if quote is None or gateway is None:
        messages.error(request, _("This is no longer on sale: choose again."))
        return redirect("balance-automatic")
    try:
        order = orders.place(
            company=request.company,
            quote=quote,
            gateway=gateway,
            actor=orders.Actor(user=request.user, ip=client_ip(request.META)),
            saves_method=True,
        )
    except DomainError as error:
        messages.error(request, str(error.body(request_id="")["message"]))
        return redirect("balance-automatic")
    return redirect("balance-order", order.public_id)  # the form's policy allows no other site


@require_POST
@member_required(can_see_money, can_manage_money)
def automatic_pay(request: CabinetRequest) -> HttpResponse:
    """The first payment again, where it was not made."""
    setting = AutoTopUp.objects.select_related("package").filter(company=request.company).first()
    if setting is None or not setting.is_on or not _needs_method(setting):
        return redirect("balance-automatic")
    return _pay_first(request, auto_top_up.quote_of(setting), setting.gateway)


@require_POST
@member_required(can_see_money, can_manage_money)
def automatic_off(request: CabinetRequest) -> HttpResponse:
    if saved_methods.turn_off(
        company=request.company, user=request.user, ip=client_ip(request.META)
    ):
        messages.success(request, _("Automatic top-ups are off."))
    return redirect("balance-automatic")


@member_required(can_see_money, can_manage_money)
def automatic_resume(request: CabinetRequest) -> HttpResponse:
    if request.method != "POST":  # back from the confirmation: the button is on that page
        return redirect("balance-automatic")
    reauthentication.require(request)
    if saved_methods.resume(company=request.company, user=request.user, ip=client_ip(request.META)):
        messages.success(request, _("Automatic top-ups are on again."))
    return redirect("balance-automatic")


@require_POST
@member_required(can_see_money, can_manage_money)
def method_remove(request: CabinetRequest) -> HttpResponse:
    if saved_methods.remove(company=request.company, user=request.user, ip=client_ip(request.META)):
        messages.success(request, _("The payment method is removed and will not be charged again."))
    return redirect("balance-automatic")
