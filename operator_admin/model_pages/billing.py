"""Admin of wallets, budgets, transfers, seals and documents; only the ledger moves tokens."""

import re
from typing import Any
from uuid import UUID

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path, reverse
from django.utils.formats import date_format
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.translation import gettext_lazy

from accounts.models import Company
from billing.budgets import budgets
from billing.documents import document_pdf
from billing.models import (
    BillingProfile,
    Budget,
    ClosedMonth,
    Document,
    Seal,
    SealedDay,
    Transfer,
    Wallet,
)
from catalogue.ids import parse_id, public_id
from operator_admin.model_pages import adjustments as adjust_views
from operator_admin.model_pages import bank_transfers as bank_transfer_admin
from operator_admin.model_pages import orders as order_admin
from operator_admin.model_pages import prices as price_admin
from operator_admin.model_pages.action_admin import ActionAdmin
from operator_admin.model_pages.bases import ModelAdmin, ReadOnlyAdmin, operator
from operator_admin.model_pages.change_list import in_lines
from parsing.integers import parse_integer
from processes.server.client_ip import client_ip

__all__ = ["bank_transfer_admin", "order_admin", "price_admin"]  # register their own
MOST_COMPANIES = 100  # whose transfers one search finds
HEAD = re.compile(r"[0-9a-f]{6,64}")  # or its beginning


@admin.register(Wallet)
class WalletAdmin(ActionAdmin):
    change_list_template = "admin/billing/wallet/change_list.html"
    change_form_template = "admin/billing/wallet/change_form.html"
    list_display = ("company", "available", "held")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=company__id")
    ordering = ("-company_id",)

    def get_urls(self) -> list[URLPattern]:
        adjust = self.admin_site.admin_view(self.adjust)
        return [path("adjust/", adjust, name="billing_wallet_adjust"), *super().get_urls()]

    def adjust(self, request: HttpRequest) -> HttpResponse:
        return adjust_views.adjust(request, self)


@admin.register(Budget)
class BudgetAdmin(ModelAdmin):
    """Country: empty for the day's budget, `*` for countries without a budget of their own."""

    list_display = ("company", "country", "own", "usual")
    list_select_related = ("company",)
    search_fields = ("company__name__istartswith", "=company__id")
    autocomplete_fields = ("company",)
    readonly_fields = ("usual",)
    ordering = ("-company_id", "country")

    def get_readonly_fields(self, request: HttpRequest, obj: Budget | None = None) -> list[str]:
        return ["usual", *(["company", "country"] if obj else [])]

    def has_delete_permission(self, request: HttpRequest, obj: Budget | None = None) -> bool:
        return False  # an empty value means the usual budget

    def save_model(self, request: HttpRequest, obj: Budget, form: Any, change: Any) -> None:
        budgets.set_own(
            company=obj.company,
            tokens={obj.country: obj.own},
            user=operator(request),
            ip=client_ip(request.META),
        )
        obj.pk = Budget.objects.filter(company=obj.company, country=obj.country).get().pk


@admin.register(Transfer)
class TransferAdmin(ReadOnlyAdmin):
    list_display = ("created_at", "company", "kind", "amount", "proof", "reason", "message")
    list_filter = ("kind", "proof")
    list_select_related = ("company",)
    search_fields = ("key",)  # shows the search box; `get_search_results` does the search
    search_help_text = gettext_lazy("Company's name or number, message id (msg_…), key")
    date_hierarchy = "created_at"
    ordering = ("-id",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Transfer], search_term: str
    ) -> tuple[QuerySet[Transfer], bool]:
        text = search_term.strip()
        if message_id := _message_id(text):
            return queryset.filter(message_id=message_id), False
        if not text:
            return queryset, False
        condition = Q(company_id__in=_companies(text)) | Q(key__startswith=text)
        return queryset.filter(condition), False

    def is_found_by_index(self, text: str) -> bool:
        return _message_id(text) is not None

    @admin.display(description=gettext_lazy("message"))
    def message(self, transfer: Transfer) -> str | None:
        return public_id("msg", transfer.message_id) if transfer.message_id else None


def _companies(text: str) -> list[int]:
    """Ids by name or number. Read first: joined, each row would look up its company."""
    named = Company.objects.filter(name__istartswith=text).order_by("pk")
    number = parse_integer(text)
    return [*named.values_list("pk", flat=True)[:MOST_COMPANIES], *([number] if number else [])]


def _message_id(text: str) -> UUID | None:
    """As the API shows it, or as a UUID."""
    try:
        return parse_id("msg", text.strip()) or UUID(text.strip())
    except ValueError:
        return None


@admin.register(Seal)
class SealAdmin(ReadOnlyAdmin):
    list_display = ("day", "company", "transfers", "available", "held", "head")
    list_select_related = ("company",)
    search_fields = ("head",)  # shows the search box; `get_search_results` does the search
    search_help_text = gettext_lazy("Company's name or number, head")
    date_hierarchy = "day"
    ordering = ("-day",)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Seal], search_term: str
    ) -> tuple[QuerySet[Seal], bool]:
        text = search_term.strip()
        if not text:
            return queryset, False
        condition = Q(company_id__in=_companies(text))
        if HEAD.fullmatch(text):
            condition |= Q(head__startswith=text)
        return queryset.filter(condition), False

    def is_found_by_index(self, text: str) -> bool:
        """One company's are; those of many, and heads, are looked for among the newest."""
        text = text.strip()
        return not HEAD.fullmatch(text) and len(_companies(text)) <= 1


@admin.register(SealedDay)
class SealedDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "companies", "head", "created_at")
    ordering = ("-day",)


@admin.register(BillingProfile)
class BillingProfileAdmin(ReadOnlyAdmin):
    list_display = (
        "company",
        "legal_name",
        "country",
        "inn",
        "email",
        "low_balance",
        "low_balance_notified_at",
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

    @admin.display(description=gettext_lazy("lines"))
    def lines_in_lines(self, document: Document) -> str:
        return in_lines(document.lines)

    @admin.display(description=gettext_lazy("parties"))
    def parties_in_lines(self, document: Document) -> str:
        return in_lines(document.parties)

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.pdf)
        return [path("<uuid:pk>/pdf", view, name="billing_document_pdf"), *super().get_urls()]

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
