"""Admin of wallets, budgets, transfers, seals, documents, prices and the seller.

Only the ledger moves tokens. An SMS price in force never changes: a new price is a new row.
"""

import re
from datetime import timedelta
from typing import Any
from uuid import UUID

from django import forms
from django.contrib import admin
from django.core.exceptions import ValidationError
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.db.models.functions import Now
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from accounts.models import Company
from accounts.people import countries
from billing import message_prices
from billing.budgets import budgets
from billing.documents import document_pdf
from billing.models import (
    BillingProfile,
    Budget,
    ClosedMonth,
    Document,
    Package,
    Seal,
    SealedDay,
    Seller,
    SmsPrice,
    Tariff,
    Transfer,
    VatRegime,
    Wallet,
)
from catalogue.ids import parse_id, public_id
from operator_admin.model_pages import adjustments as adjust_views
from operator_admin.model_pages import bank_transfers as bank_transfer_admin
from operator_admin.model_pages import orders as order_admin
from operator_admin.model_pages.audited_admin import AuditedChangesAdmin
from operator_admin.model_pages.bases import ActionAdmin, ModelAdmin, ReadOnlyAdmin, actor
from operator_admin.model_pages.change_list import NumberedChangeList, in_lines
from parsing.integers import parse_integer

__all__ = ["bank_transfer_admin", "order_admin"]  # imported because they register admins
MAX_COMPANIES = 100  # matched by one search for transfers
HEAD = re.compile(r"[0-9a-f]{6,64}")  # a seal's head or its prefix


@admin.register(Wallet)
class WalletAdmin(ActionAdmin):
    change_list_template = "admin/billing/wallet/change_list.html"
    change_form_template = "admin/billing/wallet/change_form.html"
    list_display = ("company", "available", "held")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=company__id")
    ordering = ("-company_id",)

    pages = (("adjust/", "billing_wallet_adjust", "adjust"),)

    def adjust(self, request: HttpRequest) -> HttpResponse:
        return adjust_views.adjust(request, self)


class BudgetForm(forms.ModelForm):  # type: ignore[type-arg]
    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        if self.instance.pk is None:  # nothing is stored for the usual budget
            self.fields["fixed_tokens"].required = True

    def clean_country(self) -> str:
        code: str = self.cleaned_data["country"].upper()
        if code not in {Budget.DAY, Budget.ANY, Budget.UNKNOWN, *countries.CODES}:
            raise ValidationError(
                gettext_lazy("%(code)s is not a country code."), params={"code": code}
            )
        return code


@admin.register(Budget)
class BudgetAdmin(ModelAdmin):
    """Budgets; `country` is empty for the daily one, `*` for countries without their own."""

    form = BudgetForm
    list_display = ("company", "country", "fixed_tokens", "usual_tokens")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=company__id")
    autocomplete_fields = ("company",)
    readonly_fields = ("usual_tokens",)
    ordering = ("-company_id", "country")
    may_delete = False  # an empty value means the usual budget

    def get_readonly_fields(self, request: HttpRequest, obj: Budget | None = None) -> list[str]:
        return ["usual_tokens", *(["company", "country"] if obj else [])]

    def save_model(self, request: HttpRequest, obj: Budget, form: Any, change: Any) -> None:
        budgets.set_fixed(
            company=obj.company, tokens={obj.country: obj.fixed_tokens}, **actor(request)
        )
        obj.pk = Budget.objects.filter(company=obj.company, country=obj.country).get().pk


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "kind", "amount", "proof", "reason", "message")
    list_filter = ("kind", "proof")
    list_select_related = ("company",)
    search_fields = ("key",)  # shows the search box; `find` searches
    search_help_text = gettext_lazy("Company's name or number, message id (msg_…), key")
    date_hierarchy = "created_at"
    ordering = ("-id",)

    def find(self, rows: QuerySet[Transfer], text: str) -> QuerySet[Transfer]:
        if message_id := _message_id(text):
            return rows.filter(message_id=message_id)
        return rows.filter(Q(company_id__in=_companies(text)) | Q(key__startswith=text))

    def is_found_by_index(self, text: str) -> bool:
        return _message_id(text) is not None

    @admin.display(description=gettext_lazy("message"))
    def message(self, transfer: Transfer) -> str | None:
        return public_id("msg", transfer.message_id) if transfer.message_id else None


def _companies(text: str) -> list[int]:
    """Ids by name or number, queried first: a join would look up the company of each row."""
    companies = Company.objects.filter(name__istartswith=text).order_by("pk")
    number = parse_integer(text)
    return [*companies.values_list("pk", flat=True)[:MAX_COMPANIES], *([number] if number else [])]


def _message_id(text: str) -> UUID | None:
    """The message's id, in the API's form or as a UUID."""
    try:
        return parse_id("msg", text.strip()) or UUID(text.strip())
    except ValueError:
        return None


@admin.register(Seal)
class SealAdmin(ReadOnlyAdmin):
    list_display = ("day", "company", "transfers", "available", "held", "head")
    list_select_related = ("company",)
    search_fields = ("head",)
    search_help_text = gettext_lazy("Company's name or number, head")
    date_hierarchy = "day"
    ordering = ("-day",)

    def find(self, rows: QuerySet[Seal], text: str) -> QuerySet[Seal]:
        condition = Q(company_id__in=_companies(text))
        if HEAD.fullmatch(text):
            condition |= Q(head__startswith=text)
        return rows.filter(condition)

    def is_found_by_index(self, text: str) -> bool:
        """Whether an index finds the rows, as for one company.

        Rows of several companies, and heads, are searched among the newest.
        """
        text = text.strip()
        return not HEAD.fullmatch(text) and len(_companies(text)) <= 1


@admin.register(SealedDay)
class SealedDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "companies", "head", "created_at")
    ordering = ("-day",)


@admin.register(BillingProfile)
class BillingProfileAdmin(ReadOnlyAdmin):
    list_display = (
        *("company", "legal_name", "country", "inn", "email"),
        *("low_balance", "low_balance_notified_at"),
    )
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "legal_name__icontains", "inn__startswith")
    ordering = ("-company_id",)


@admin.register(ClosedMonth)
class ClosedMonthAdmin(ReadOnlyAdmin):
    list_display = (
        *("named", "company", "opening", "bought", "granted", "withdrawn", "spent", "closing"),
        "is_due",
    )
    list_filter = ("is_due", "month")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith",)
    ordering = ("-month", "-company_id")

    @admin.display(description=gettext_lazy("month"), ordering="month")
    def named(self, closed: ClosedMonth) -> str:
        return date_format(closed.month, "F Y")


@admin.register(Document)
class DocumentAdmin(ReadOnlyAdmin):
    list_display = ("title", "kind", "company", "issued_on", "amount", "currency", "file")
    list_filter = ("kind", "issued_on")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=serial")
    ordering = ("-year", "-serial")
    exclude = ("lines", "parties")
    readonly_fields = ("lines_in_lines", "parties_in_lines")
    pages = (("<uuid:pk>/pdf", "billing_document_pdf", "pdf"),)

    @admin.display(description=gettext_lazy("lines"))
    def lines_in_lines(self, document: Document) -> str:
        return in_lines(document.lines)

    @admin.display(description=gettext_lazy("parties"))
    def parties_in_lines(self, document: Document) -> str:
        return in_lines(document.parties)

    @admin.display(description=gettext_lazy("number"), ordering="serial")
    def title(self, document: Document) -> str:
        return document.number

    @admin.display(description=gettext_lazy("file"))
    def file(self, document: Document) -> SafeString:
        url = reverse("admin:billing_document_pdf", args=[document.pk])
        return format_html('<a href="{}">PDF</a>', url)

    def pdf(self, request: HttpRequest, pk: object) -> HttpResponse:
        document = self.get_object(request, str(pk))
        if document is None or not self.has_view_permission(request, document):
            return HttpResponse(status=404)
        return HttpResponse(document_pdf.draw(document), content_type="application/pdf")


STARTS_IN_PAST = gettext_lazy(
    "A price cannot begin in the past: messages keep the price at which they were held."
)
GRACE = timedelta(minutes=10)  # in which a form may stay open


class SmsPriceForm(forms.ModelForm):  # type: ignore[type-arg]
    country = countries.CountryField()

    def clean_starts_at(self) -> Any:
        starts_at = self.cleaned_data["starts_at"]
        now = timezone.now()
        if starts_at < now - GRACE:
            raise ValidationError(STARTS_IN_PAST, code="past")
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

    @admin.display(description=gettext_lazy("country"))
    def country_name(self, price: SmsPrice) -> str:
        return countries.name(price.country)

    @admin.display(description=gettext_lazy("in force"), boolean=True)
    def holds(self, price: Any) -> bool:
        return price.starts_at <= timezone.now() and not price.is_replaced

    def get_queryset(self, request: HttpRequest) -> QuerySet[SmsPrice]:
        """The prices, annotated with whether a later price of the country has begun."""
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
        actions.pop("delete_selected", None)  # it would delete history
        return actions

    def save_model(self, request: HttpRequest, obj: SmsPrice, form: Any, change: Any) -> None:
        obj.created_by = actor(request)["user"]
        super().save_model(request, obj, form, change)
        message_prices.refresh()


@admin.register(Package)
class PackageAdmin(AuditedChangesAdmin):
    audit_action = "prices.changed"
    changelist = NumberedChangeList
    list_display = ("code", "tokens", "price", "currency", "position", "is_active")
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

    may_delete = False

    def save_model(self, request: HttpRequest, obj: Seller, form: Any, change: Any) -> None:
        obj.pk = 1
        super().save_model(request, obj, form, change)


@admin.register(VatRegime)
class VatRegimeAdmin(AuditedChangesAdmin):
    """The seller's VAT regimes; a change affects only documents issued later."""

    audit_action = "seller.changed"
    changelist = NumberedChangeList
    list_display = ("since", "regime")
    ordering = ("-since",)
