"""The page of automatic top-ups: trigger, quantity, method, monthly maximum, and the consent."""

from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext, ngettext
from django.utils.translation import gettext_lazy as _
from django.views.decorators.http import require_POST

from accounts.people.cabinet_access import (
    CabinetRequest,
    can_manage_money,
    can_see_money,
    member_required,
)
from accounts.security import reauthentication
from billing.gateways import registry
from billing.models import AutoTopUp, BillingProfile, MethodSaving, Order, Package, SavedMethod
from billing.models.auto_top_up import MAX_PER_DAY
from billing.models.offer import CENT
from billing.orders import auto_top_up, orders, prices
from billing.orders.prices import Quote
from billing.wallet.amounts import SYMBOLS, money
from billing.web.forms import TopUpForm
from cabinet.forms import GroupedDecimalField, GroupedIntegerField, grouped
from catalogue.errors import DomainError
from parsing.form_fields import IntegerField
from parsing.stale_forms import RefusesStaleForm

BELOW_ONE = _("This is less than one top-up costs.")


class AutoTopUpForm(RefusesStaleForm, TopUpForm):
    threshold = GroupedIntegerField(
        label=_("When fewer tokens are available than"),
        min_value=1,
        max_value=settings.MAX_TOP_UP_TOKENS,
    )
    max_orders_per_day = IntegerField(
        label=_("Maximum top-ups per day"), min_value=1, max_value=MAX_PER_DAY
    )
    max_amount_per_month = GroupedDecimalField(
        label=_("Maximum per calendar month"), min_value=CENT, max_digits=14, decimal_places=2
    )
    consent = forms.BooleanField(
        label=_(
            "I agree that tokens are bought on these terms without asking me each time, with "
            "money taken from the saved payment method. I can turn this off here at any time."
        ),
        error_messages={"required": _("Without your agreement nothing is bought automatically.")},
    )

    def __init__(
        self, *args: Any, setting: AutoTopUp | None, typed: dict[str, Any], **kwargs: Any
    ) -> None:
        """`typed` is the input from before the person had to reauthenticate."""
        initial = _initial(setting, kwargs["currency"]) | typed
        super().__init__(*args, initial=initial, **kwargs)
        self.gateways = {
            name: row for name, row in self.gateways.items() if row.saves_methods or row.has_invoice
        }
        monthly_maximum = self.fields["max_amount_per_month"]
        monthly_maximum.label = _("Maximum per month, %(currency)s") % {
            "currency": SYMBOLS.get(self.currency, self.currency)
        }
        field = self.fields["gateway"]
        field.choices = [pair for pair in field.choices if pair[0] in self.gateways]  # type: ignore[attr-defined]
        field.initial = next(iter(self.gateways), None)
        package = self.fields["package"]
        titles = {offer.code: _title(offer) for offer in self.packages}
        package.choices = [(code, titles.get(code, text)) for code, text in package.choices]  # type: ignore[attr-defined]
        for choice in (field, package):
            choice.widget.attrs["class"] = "form-check-input"

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        quote = data.get("quote")
        monthly_maximum = data.get("max_amount_per_month")
        if quote is not None and monthly_maximum is not None and monthly_maximum < quote.amount:
            self.add_error("max_amount_per_month", BELOW_ONE)
        return data

    @property
    def limits(self) -> list[forms.BoundField]:
        return [self["max_orders_per_day"], self["max_amount_per_month"]]

    def terms(self) -> dict[str, Any]:
        """The terms in the form of `auto_top_up.turn_on`."""
        data = self.cleaned_data
        package = data["quote"].package
        return {
            "threshold": data["threshold"],
            "package": package,
            "tokens": None if package else data["quote"].tokens,
            "gateway": data["gateway"],
            "max_orders_per_day": data["max_orders_per_day"],
            "max_amount_per_month": Decimal(data["max_amount_per_month"]),
            "currency": data["quote"].currency,
        }


def _title(package: Package) -> str:
    text = ngettext("%(tokens)s token for %(sum)s", "%(tokens)s tokens for %(sum)s", package.tokens)
    return text % {"tokens": grouped(package.tokens), "sum": money(package.price, package.currency)}


def _initial(setting: AutoTopUp | None, currency: str) -> dict[str, Any]:
    if setting is None:
        return {"threshold": 100, "max_orders_per_day": 1}
    return {
        "threshold": setting.threshold,
        "package": setting.package.code if setting.package else "",
        "tokens": setting.tokens,
        "gateway": setting.gateway,
        "max_orders_per_day": setting.max_orders_per_day,
        # The same number in another currency is another sum.
        "max_amount_per_month": (
            setting.max_amount_per_month if setting.currency == currency else None
        ),
    }


@member_required(can_see_money, can_manage_money)
def automatic(request: CabinetRequest) -> HttpResponse:
    """Shows the terms and the saved method; a POST agrees to new terms."""
    company = request.company
    setting = AutoTopUp.objects.select_related("package").filter(company=company).first()
    currency = prices.currency_of(BillingProfile.for_company(company))
    form = AutoTopUpForm(
        request.POST or None,
        setting=setting,
        currency=currency,
        typed=reauthentication.draft(request),
    )
    if request.method == "POST" and form.is_valid():
        reauthentication.require(request, form)
        return _turn_on(request, form)
    saved = SavedMethod.objects.filter(company=company).first()
    quote = auto_top_up.quote_of(setting) if setting else None
    context = {
        "form": form,
        "setting": setting,
        "saved": saved,
        "saved_by": registry.title(saved.gateway) if saved else "",
        "quote": quote,
        "is_saving": MethodSaving.objects.filter(order__company=company)
        .exclude(order__state=Order.State.EXPIRED)
        .exists(),
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


def _turn_on(request: CabinetRequest, form: AutoTopUpForm) -> HttpResponse:
    setting = auto_top_up.turn_on(company=request.company, terms=form.terms(), **request.actor)
    if not _needs_method(setting):
        messages.success(request, gettext("Automatic top-ups are on."))
        return redirect("balance-automatic")
    return _pay_first(request, form.cleaned_data["quote"], setting.gateway)


def _pay_first(request: CabinetRequest, quote: Quote | None, gateway_name: str) -> HttpResponse:
    """Places an order whose payment saves its method, and redirects to its page, where the payer
    starts the payment.
    """
    gateway = registry.find(gateway_name)
    if quote is None or gateway is None:
        messages.error(request, gettext("This is no longer on sale: choose again."))
        return redirect("balance-automatic")
    try:
        order = orders.place(
            company=request.company,
            quote=quote,
            gateway=gateway,
            saves_method=True,
            **request.actor,
        )
    except DomainError as error:
        messages.error(request, " ".join(error.texts))
        return redirect("balance-automatic")
    # The page's form-action policy allows no redirect to another site.
    return redirect("balance-order", order.public_id)


@require_POST
@member_required(can_see_money, can_manage_money)
def automatic_pay(request: CabinetRequest) -> HttpResponse:
    """Retries the first payment if it was not made."""
    setting = AutoTopUp.objects.select_related("package").filter(company=request.company).first()
    if setting is None or not setting.is_enabled or not _needs_method(setting):
        return redirect("balance-automatic")
    return _pay_first(request, auto_top_up.quote_of(setting), setting.gateway)


@require_POST
@member_required(can_see_money, can_manage_money)
def automatic_off(request: CabinetRequest) -> HttpResponse:
    if auto_top_up.turn_off(company=request.company, **request.actor):
        messages.success(request, gettext("Automatic top-ups are off."))
    return redirect("balance-automatic")


@member_required(can_see_money, can_manage_money)
def automatic_resume(request: CabinetRequest) -> HttpResponse:
    if request.method != "POST":  # back from the reauthentication: the button is on that page
        return redirect("balance-automatic")
    reauthentication.require(request)
    if auto_top_up.resume(company=request.company, **request.actor):
        messages.success(request, gettext("Automatic top-ups are on again."))
    return redirect("balance-automatic")


@require_POST
@member_required(can_see_money, can_manage_money)
def method_remove(request: CabinetRequest) -> HttpResponse:
    if auto_top_up.remove_method(company=request.company, **request.actor):
        messages.success(
            request, gettext("The payment method is removed and will not be charged again.")
        )
    return redirect("balance-automatic")
