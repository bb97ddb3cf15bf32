"""The cabinet's pages about money: the balance, the statement, billing details."""

from typing import Any
from urllib.parse import urlencode

from django.contrib import messages
from django.core.exceptions import ValidationError
from django.forms import BaseForm
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.form_pages import refusals_shown
from accounts.models import Company
from accounts.people import countries
from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_money,
    can_see_money,
    member_required,
)
from accounts.security import reauthentication
from api.pagination import page_or_first
from billing import message_prices
from billing.gateways import registry
from billing.gateways.invoice import Invoice
from billing.models import BalanceAlert, BillingProfile, Order, Tariff
from billing.orders import billing_profiles, orders, prices
from billing.orders.prices import Quote
from billing.wallet import balance_alerts, ledger
from billing.wallet import statement as statements
from billing.web.forms import (
    BalanceAlertForm,
    LowBalanceForm,
    PendingPurchaseForm,
    ProfileForm,
    StatementFilter,
    TopUpForm,
)
from cabinet.forms import GroupedIntegerField
from catalogue.channels import CHANNELS
from catalogue.errors import DomainError
from parsing.stale_forms import VERSION

RECENT = 5


@member_required(can_see_money, can_manage_money)
def balance(request: CabinetRequest) -> HttpResponse:
    """Shows the balance and what it pays for; a POST places an order."""
    profile = BillingProfile.for_company(request.company)
    currency = prices.currency_of(profile)
    form = TopUpForm(request.POST or None, currency=currency)
    if request.method == "POST" and form.is_valid() and (placed := _place_order(request, form)):
        return placed
    context = {
        **_balance_of(request.company, profile),
        "form": form,
        "tariffs": Tariff.objects.filter(currency=currency),
        "currency": currency,
    }
    return render(request, "billing/balance.html", context)


def _balance_of(company: Company, profile: BillingProfile) -> dict[str, Any]:
    """The balance, how long it lasts, its alerts, and its last movements."""
    available, held = ledger.balance(company.pk)
    lines = statements.lines_of(company, {})
    recent = page_or_first(lines.rows, {"limit": str(RECENT)}, history=lines.history).rows
    return {
        "available": available,
        "held": held,
        "sends": prices.messages_affordable(available, company.country),
        "days_left": balance_alerts.days_left(company),
        "message_prices": _message_prices(),
        "low_balance_form": LowBalanceForm(initial={"low_balance": profile.low_balance}),
        "alerts": BalanceAlert.objects.filter(company=company).order_by("kind", "level"),
        "alert_form": BalanceAlertForm(auto_id="alert_%s"),
        "is_low": available < profile.low_balance,
        "open_orders": Order.objects.for_company(company).open().order_by("-created_at")[:RECENT],
        "lines": statements.with_balances(company, recent),
    }


def _message_prices() -> dict[str, Any]:
    by_country = message_prices.by_country()
    return {
        "channels": [
            (channel.title, message_prices.price_of(channel.name)) for channel in CHANNELS
        ],
        "countries": sorted((countries.name(code), tokens) for code, tokens in by_country.items()),
    }


@require_GET
@member_required(can_see_money)
def quote_tokens(request: CabinetRequest) -> HttpResponse:
    """Quotes a number of tokens during typing."""
    currency = prices.currency_of(BillingProfile.for_company(request.company))
    tokens = GroupedIntegerField(required=False)
    try:
        price = prices.quote_tokens(tokens.clean(request.GET.get("tokens", "")) or 0, currency)
    except ValidationError:
        price = None
    return render(
        request, "billing/quote.html", {"quote": price, "min_tokens": prices.min_tokens(currency)}
    )


@require_POST
@member_required(can_see_money, can_manage_money)
def change_low_balance(request: CabinetRequest) -> HttpResponse:
    form = LowBalanceForm(request.POST)
    if form.is_valid():
        billing_profiles.change(company=request.company, changes=form.cleaned_data, **request.actor)
        messages.success(request, _("Settings saved."))
    else:
        messages.error(request, " ".join(map(str, form.errors["low_balance"])))
    return redirect("balance")


@member_required(can_see_money)
def statement(request: CabinetRequest) -> HttpResponse:
    form = StatementFilter(request.GET)
    lines = statements.lines_of(request.company, form.filters())
    page = page_or_first(lines.rows, request.GET, history=lines.history)
    context = {
        "form": form,
        "is_filtered": bool(form.filters()),
        "page": page,
        "lines": statements.with_balances(request.company, page.rows),
        "opening": None if page.next_cursor else lines.opening,
    }
    return render(request, "billing/statement.html", context)


@member_required(can_see_money, can_manage_money)
def profile(request: CabinetRequest) -> HttpResponse:
    """Edits billing details; with a package or tokens in the query, then places that order."""
    stored = BillingProfile.for_company(request.company)
    typed = reauthentication.draft(request)
    pending = PendingPurchaseForm(request.POST or typed or request.GET)
    quote = pending.quote(prices.currency_of(stored))
    form = ProfileForm(
        request.POST or None,
        instance=stored,
        initial=typed or _draft_fields(request),
        is_complete=quote is not None,
    )
    if request.method == "POST" and form.is_valid():
        _confirm_changes(request, form, pending)
        billing_profiles.change(company=request.company, changes=form.cleaned_data, **request.actor)
        if quote is not None:
            return _order_invoice(request, quote)
        messages.success(request, _("Billing details saved."))
        return redirect("balance-profile")
    context = {"form": form, "quote": quote, "afterwards": pending}
    return render(request, "billing/profile.html", context)


def _confirm_changes(request: CabinetRequest, *forms: BaseForm) -> None:
    """Requires reauthentication if the forms change stored values.

    They are compared with the database: a form's own initial values may come from the query.
    """
    is_changed = billing_profiles.is_changed(request.company, forms[0].cleaned_data)
    if is_changed and not reauthentication.is_fresh(request):
        draft = {field.name: field.data for form in forms for field in form}
        raise reauthentication.ReauthenticationNeeded(draft)


def _draft_fields(request: CabinetRequest) -> dict[str, str]:
    """Unsaved input, preserved when the form is reloaded for another country."""
    names = (*ProfileForm.base_fields, VERSION)
    return {name: request.GET[name] for name in names if name in request.GET}


def _order_invoice(request: CabinetRequest, quote: Quote) -> HttpResponse:
    gateway = registry.find(Invoice.name)
    if gateway is not None:
        with refusals_shown(request):
            order = orders.place(
                company=request.company, quote=quote, gateway=gateway, **request.actor
            )
            return redirect("balance-order", order.public_id)
    return redirect("balance")


def _redirect_to_billing_details(request: CabinetRequest, form: TopUpForm) -> HttpResponse:
    """Redirects to the billing details with the purchase, which is placed once they are saved."""
    params = {name: form.cleaned_data[name] for name in ("package", "tokens")}
    query = urlencode({name: value for name, value in params.items() if value})
    messages.info(request, _("Tell us who the invoice is for: it is issued right after that."))
    return redirect(f"{reverse('balance-profile')}?{query}")


def _place_order(request: CabinetRequest, form: TopUpForm) -> HttpResponse | None:
    """Places the order; returns the next page, or None with the refusal on the form."""
    data = form.cleaned_data
    gateway = form.gateways[data["gateway"]]
    try:
        order = orders.place(
            company=request.company, quote=data["quote"], gateway=gateway, **request.actor
        )
    except orders.BillingDetailsNeededError:
        return _redirect_to_billing_details(request, form)
    except DomainError as error:
        form.add_error(None, error.texts)
        return None
    return redirect("balance-order", order.public_id)


@require_POST
@member_required(can_see_money, can_manage_money)
def alert_add(request: CabinetRequest) -> HttpResponse:
    form = BalanceAlertForm(request.POST)
    if not form.is_valid():
        messages.error(request, " ".join(str(e[0]) for e in form.errors.values()))
        return redirect("balance")
    with refusals_shown(request):
        balance_alerts.add(company=request.company, **request.actor, **form.cleaned_data)
        messages.success(request, _("Alert added."))
    return redirect("balance")


@require_POST
@member_required(can_see_money, can_manage_money)
def alert_remove(request: CabinetRequest, pk: int) -> HttpResponse:
    alert = get_object_or_404(BalanceAlert, pk=pk, company=request.company)
    balance_alerts.remove(alert=alert, **request.actor)
    messages.success(request, _("Alert removed."))
    return redirect("balance")
