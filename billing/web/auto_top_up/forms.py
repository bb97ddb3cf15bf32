"""The form of automatic top-ups: when, what, how, how much at most, and the consent."""

from decimal import Decimal
from typing import Any

from django import forms
from django.conf import settings
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.cabinet.number_fields import GroupedDecimalField, GroupedIntegerField, grouped
from billing.models import AutoTopUp, Package
from billing.models.auto_top_up import MOST_A_DAY
from billing.models.offer import CENT
from billing.wallet.amounts import SYMBOLS, money
from billing.web.forms import TopUpForm
from config.input.form_fields import IntegerField

BELOW_ONE = _("This is less than one top-up costs.")


class AutoTopUpForm(TopUpForm):
    threshold = GroupedIntegerField(
        label=_("When fewer tokens are available than"),
        min_value=1,
        max_value=settings.MAX_TOP_UP_TOKENS,
    )
    times_a_day = IntegerField(label=_("At most, times a day"), min_value=1, max_value=MOST_A_DAY)
    sum_a_month = GroupedDecimalField(
        label=_("At most a calendar month"),
        min_value=CENT,
        max_digits=14,
        decimal_places=2,
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
        """`typed` is what was filled in before the person had to confirm who they are."""
        initial = _initial(setting, kwargs["currency"]) | typed
        super().__init__(*args, initial=initial, **kwargs)
        self.gateways = {
            name: one for name, one in self.gateways.items() if one.saves_methods or one.has_invoice
        }
        most = self.fields["sum_a_month"]
        most.label = _("At most, %(currency)s a month") % {
            "currency": SYMBOLS.get(self.currency, self.currency)
        }
        field = self.fields["gateway"]
        field.choices = [pair for pair in field.choices if pair[0] in self.gateways]  # type: ignore[attr-defined]
        field.initial = next(iter(self.gateways), None)
        package = self.fields["package"]
        titles = {one.code: _title(one) for one in self.packages}
        package.choices = [(code, titles.get(code, text)) for code, text in package.choices]  # type: ignore[attr-defined]
        for one in (field, package):
            one.widget.attrs["class"] = "form-check-input"

    def clean(self) -> dict[str, Any]:
        data = super().clean()
        quote, most = data.get("quote"), data.get("sum_a_month")
        if quote is not None and most is not None and most < quote.amount:
            self.add_error("sum_a_month", BELOW_ONE)
        return data

    @property
    def limits(self) -> list[forms.BoundField]:
        return [self["times_a_day"], self["sum_a_month"]]

    def terms(self) -> dict[str, Any]:
        """As `saved_methods.agree` takes them."""
        data = self.cleaned_data
        package = data["quote"].package
        return {
            "threshold": data["threshold"],
            "package": package,
            "tokens": None if package else data["quote"].tokens,
            "gateway": data["gateway"],
            "times_a_day": data["times_a_day"],
            "sum_a_month": Decimal(data["sum_a_month"]),
            "currency": data["quote"].currency,
        }


def _title(package: Package) -> str:
    text = ngettext("%(tokens)s token for %(sum)s", "%(tokens)s tokens for %(sum)s", package.tokens)
    return text % {
        "tokens": grouped(package.tokens),
        "sum": money(package.price, package.currency),
    }


def _initial(setting: AutoTopUp | None, currency: str) -> dict[str, Any]:
    if setting is None:
        return {"threshold": 100, "times_a_day": 1}
    return {
        "threshold": setting.threshold,
        "package": setting.package.code if setting.package else "",
        "tokens": setting.tokens,
        "gateway": setting.gateway,
        "times_a_day": setting.times_a_day,
        # In another currency the same number is another sum.
        "sum_a_month": setting.sum_a_month if setting.currency == currency else None,
    }
