"""Admin of prices and of the seller. An SMS price that has begun is history: it gets a new row."""

from datetime import timedelta
from typing import Any

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.people import countries
from billing import message_prices
from billing.models import Package, Seller, SmsPrice, Tariff, VatRegime
from operator_admin.model_pages.action_admin import AuditedChangesAdmin
from operator_admin.model_pages.bases import operator
from operator_admin.model_pages.change_list import NumberedChangeList

PAST = _("A price cannot begin in the past: messages keep the price that they were held at.")
GRACE = timedelta(minutes=10)  # for a form that was open for a while


class SmsPriceForm(forms.ModelForm):  # type: ignore[type-arg]
    country = countries.CountryField()

    def clean_starts_at(self) -> Any:
        starts_at = self.cleaned_data["starts_at"]
        now = timezone.now()
        if starts_at < now - GRACE:
            raise ValidationError(PAST, code="past")
        return max(starts_at, now)


@admin.register(SmsPrice)
class SmsPriceAdmin(AuditedChangesAdmin):
    audit_action = "prices.changed"
    form = SmsPriceForm
    changelist = NumberedChangeList
    list_display = ("country_name", "country", "tokens", "starts_at", "created_by", "holds")
    list_select_related = ("created_by",)
    search_fields = ("country__iexact",)
    fields = ("country", "tokens", "starts_at")
    ordering = ("country", "-starts_at")

    @admin.display(description=_("country"))
    def country_name(self, price: SmsPrice) -> str:
        return countries.name(price.country)

    @admin.display(description=_("holds now"), boolean=True)
    def holds(self, price: Any) -> bool:
        return price.starts_at <= timezone.now() and not price.is_replaced

    def get_queryset(self, request: HttpRequest) -> QuerySet[SmsPrice]:
        """With whether a later price of the country has begun."""
        later = SmsPrice.objects.filter(
            country=OuterRef("country"), starts_at__gt=OuterRef("starts_at"), starts_at__lte=Now()
        )
        rows: QuerySet[SmsPrice] = super().get_queryset(request)
        return rows.annotate(is_replaced=Exists(later))

    def has_change_permission(self, request: HttpRequest, obj: SmsPrice | None = None) -> bool:
        return obj is None and super().has_change_permission(request, obj)

    def has_delete_permission(self, request: HttpRequest, obj: SmsPrice | None = None) -> bool:
        is_coming = obj is None or obj.starts_at > timezone.now()
        return is_coming and super().has_delete_permission(request, obj)

    def get_actions(self, request: HttpRequest) -> dict[str, Any]:
        actions: dict[str, Any] = super().get_actions(request)
        actions.pop("delete_selected", None)  # it would take history along
        return actions

    def save_model(self, request: HttpRequest, obj: SmsPrice, form: Any, change: Any) -> None:
        obj.created_by = operator(request)
        super().save_model(request, obj, form, change)
        message_prices.refresh()


@admin.register(Package)
class PackageAdmin(AuditedChangesAdmin):
    audit_action = "prices.changed"
    changelist = NumberedChangeList
    list_display = ("code", "tokens", "price", "currency", "position", "is_active")
    list_editable = ("position", "is_active")
    ordering = ("position", "tokens")


@admin.register(Tariff)
class TariffAdmin(AuditedChangesAdmin):
    audit_action = "prices.changed"
    changelist = NumberedChangeList
    list_display = ("tokens_from", "price", "currency")
    list_filter = ("currency",)
    ordering = ("currency", "tokens_from")


@admin.register(Seller)
class SellerAdmin(AuditedChangesAdmin):
    audit_action = "seller.changed"
    list_display = ("name", "inn", "bank_name", "vat_rate", "charges_vat_abroad")

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and not Seller.objects.exists()

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Seller, form: Any, change: Any) -> None:
        obj.pk = 1
        super().save_model(request, obj, form, change)


@admin.register(VatRegime)
class VatRegimeAdmin(AuditedChangesAdmin):
    """What it changes is what is issued from now on: issued documents stay as they are."""

    audit_action = "seller.changed"
    changelist = NumberedChangeList
    list_display = ("since", "regime")
    ordering = ("-since",)
