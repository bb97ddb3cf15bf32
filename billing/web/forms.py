"""The cabinet's forms about money."""

import re
from typing import Any

from django import forms
from django.conf import settings
from django.core.exceptions import ValidationError
from django.urls import reverse_lazy
from django.utils.translation import gettext
from django.utils.translation import gettext_lazy as _

from accounts.people.countries import CountryField
from billing import billing_details
from billing.billing_details import KPP
from billing.gateways import registry
from billing.models import BalanceAlert, BillingProfile, Transfer
from billing.orders import orders, prices
from billing.orders.pdf import undrawable_characters
from billing.orders.prices import Quote
from billing.wallet import balance_alerts
from cabinet.forms import FilterForm, GroupedIntegerField
from catalogue.languages import page_languages
from parsing.form_fields import DayBoundField, IntegerField, LineField
from parsing.stale_forms import RefusesStaleForm

CUSTOM_AMOUNT = ""  # the choice of a custom number of tokens
Choices = list[tuple[str, Any]]


class TopUpForm(forms.Form):
    package = forms.ChoiceField(
        label=_("How many tokens"), required=False, widget=forms.RadioSelect
    )
    tokens = GroupedIntegerField(label=_("Number of tokens"), required=False)
    gateway = forms.ChoiceField(label=_("Payment method"), widget=forms.RadioSelect)

    def __init__(self, *args: Any, currency: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.currency = currency
        self.packages = prices.packages_in(currency)
        self.min_tokens = prices.min_tokens(currency)
        self.gateways = {gateway.name: gateway for gateway in registry.available()}
        other: Choices = [(CUSTOM_AMOUNT, _("Custom amount"))] if self.min_tokens else []
        package = self.fields["package"]
        gateway = self.fields["gateway"]
        package.choices = [*((p.code, str(p)) for p in self.packages), *other]  # type: ignore[attr-defined]
        gateway.choices = [(name, registry.title(name)) for name in self.gateways]  # type: ignore[attr-defined]
        package.initial = self.packages[0].code if self.packages else CUSTOM_AMOUNT
        gateway.initial = next(iter(self.gateways), None)

    @property
    def can_sell(self) -> bool:
        return bool(self.gateways) and (bool(self.packages) or self.min_tokens is not None)

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        if not self.errors:
            data["quote"] = quote = self._quote(data)
            if quote and (text := orders.unsuitable_reason(self.gateways[data["gateway"]], quote)):
                self.add_error("gateway", str(text))
        return data

    def _quote(self, data: dict[str, Any]) -> Quote | None:
        if data["package"]:
            return prices.quote_package(data["package"])
        quote = prices.quote_tokens(data["tokens"] or 0, self.currency)
        if quote is None:
            message = _("A whole number from %(minimum)d to %(maximum)d.")
            limits = {"minimum": self.min_tokens or 1, "maximum": settings.MAX_TOP_UP_TOKENS}
            self.add_error("tokens", ValidationError(message, params=limits))
        return quote


class StatementFilter(FilterForm):
    kind = forms.ChoiceField(
        label=_("Operation"),
        required=False,
        choices=[
            ("", _("balance changes")),
            ("all", _("all, including holds")),
            *Transfer.Kind.choices,
        ],
    )
    date_from = DayBoundField(label=_("From"), required=False)
    date_to = DayBoundField(label=_("To"), required=False)


class LowBalanceForm(forms.Form):
    low_balance = GroupedIntegerField(
        label=_("Low-balance alert below"),
        min_value=0,
        max_value=settings.MAX_TOP_UP_TOKENS,
        help_text=_(
            "Owners and accountants get one e-mail each time the balance drops below this. 0 "
            "turns it off."
        ),
    )


Kind = BalanceAlert.Kind
MAX_LEVELS = {Kind.TOKENS: 10**12, Kind.DAYS: balance_alerts.MAX_DAYS, Kind.BUDGET: 100}


class BalanceAlertForm(forms.Form):
    kind = forms.ChoiceField(label=_("What to monitor"), choices=Kind.choices)
    level = GroupedIntegerField(
        label=_("Level"),
        min_value=1,
        help_text=_(
            "You get an e-mail when tokens or days fall below this level, or when the used share "
            "of the budget reaches it."
        ),
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or {}
        kind = cleaned.get("kind")
        level = cleaned.get("level")
        if kind and level and level > MAX_LEVELS[Kind(kind)]:
            text = gettext("At most %(maximum)s for this alert.")
            self.add_error("level", text % {"maximum": MAX_LEVELS[Kind(kind)]})
        return cleaned


EXCHANGE_ID = re.compile(r"[0-9A-Za-z@.\-]{4,60}")

# Reloads the fields for another country; without JavaScript the server reports missing ones.
REFRESH_ON_CHANGE = {
    "hx-get": reverse_lazy("balance-profile"),
    "hx-include": "closest form",
    "hx-params": "not csrfmiddlewaretoken",
    "hx-target": "#billing-details",
    "hx-select": "#billing-details",
    "hx-swap": "outerHTML",
}


class ProfileForm(RefusesStaleForm, forms.ModelForm):  # type: ignore[type-arg]
    """The form with the chosen country's fields. `is_complete`: requires all that an invoice
    needs.
    """

    country = CountryField()
    currency = forms.ChoiceField(
        label=_("Currency of prices"),
        required=False,
        help_text=_("For prices, orders and invoices from now on; earlier ones stay as they are."),
    )

    documents_language = forms.ChoiceField(
        label=_("Language of documents"),
        required=False,
        help_text=_("For invoices, acts and statements. Russian tax forms stay in Russian."),
    )

    class Meta:
        model = BillingProfile
        fields = (
            *("country", "currency", "legal_name", "inn", "kpp", "address"),
            *("email", "documents_language", "edo_id"),
        )
        labels = {
            "legal_name": _("Legal name"),
            "inn": _("INN"),
            "kpp": _("KPP"),
            "address": _("Legal address"),
            "email": _("E-mail for documents"),
            "edo_id": _("Id in electronic document exchange"),
        }
        help_texts = {
            "legal_name": _("As it should appear on invoices."),
            "kpp": _("Organisations only. Leave empty for a sole proprietor."),
            "edo_id": _("Of your exchange operator, such as 2BM-…; for documents in XML."),
        }

    def __init__(self, *args: Any, is_complete: bool = False, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.is_complete = is_complete
        self.initial["country"] = self.initial.get("country") or self.instance.effective_country
        self.fields["country"].widget.attrs |= REFRESH_ON_CHANGE
        country = str(self["country"].value() or "")
        self.fields["inn"].label = str(billing_details.tax_number_name(country))
        if country in billing_details.EU:
            self.fields["inn"].help_text = _(
                "With it, invoices are issued without VAT, under reverse charge. Leave empty "
                "if you have none."
            )
        if country != "RU":
            del self.fields["kpp"], self.fields["edo_id"]
        company_language = dict(page_languages.choices())[
            page_languages.nearest(self.instance.company.language)
        ]
        self.fields["documents_language"].choices = [  # type: ignore[attr-defined]
            ("", _("The company's: %(language)s") % {"language": company_language}),
            *page_languages.choices(),
        ]
        sold = prices.sold_currencies()
        choices = [("", _("Based on the country")), *((code, code) for code in sold)]
        self.fields["currency"].choices = choices  # type: ignore[attr-defined]
        if len(sold) < 2:
            del self.fields["currency"]
        self.fields["legal_name"].required = is_complete
        self.fields["inn"].required = is_complete and country == "RU"

    def clean_legal_name(self) -> str:
        return self._printable("legal_name")

    def clean_address(self) -> str:
        return self._printable("address")

    def _printable(self, name: str) -> str:
        text: str = self.cleaned_data[name]
        if letters := undrawable_characters(text):
            raise ValidationError(
                _("Documents cannot show “%(letters)s”: use Latin or Cyrillic letters.")
                % {"letters": letters[:20]}
            )
        return text

    def clean_inn(self) -> str:
        inn: str = self.cleaned_data["inn"].replace(" ", "")
        return inn

    def clean_kpp(self) -> str:
        kpp: str = self.cleaned_data["kpp"].replace(" ", "").upper()
        if kpp:
            KPP(kpp)
        return kpp

    def clean_edo_id(self) -> str:
        text: str = self.cleaned_data["edo_id"].strip()
        if text and not EXCHANGE_ID.fullmatch(text):
            raise ValidationError(_("Latin letters, digits and hyphens, without spaces."))
        return text

    def clean(self) -> dict[str, Any]:
        data = super().clean() or self.cleaned_data
        data.setdefault("kpp", "")
        if not self.errors:
            country = data["country"]
            inn = data["inn"]
            kpp = data["kpp"]
            errors = billing_details.format_errors(country=country, inn=inn, kpp=kpp)
            data["inn"] = billing_details.vat_id(country, inn) or inn
            if self.is_complete and not errors:
                name = data["legal_name"]
                errors = billing_details.missing_fields(
                    country=country, legal_name=name, inn=inn, kpp=kpp
                )
            for field, message in errors.items():
                self.add_error(field if field in self.fields else None, str(message))
        return data


class PendingPurchaseForm(forms.Form):
    """A purchase by invoice that waits until the billing details are complete."""

    package = LineField(required=False, max_length=40, widget=forms.HiddenInput)
    tokens = IntegerField(required=False, widget=forms.HiddenInput)

    def quote(self, currency: str) -> Quote | None:
        """The quote of the purchase; None if nothing is requested, or it is not sold."""
        if not self.is_bound or not self.is_valid():
            return None
        package = self.cleaned_data["package"]
        tokens = self.cleaned_data["tokens"]
        if package:
            return prices.quote_package(package)
        return prices.quote_tokens(tokens or 0, currency)
