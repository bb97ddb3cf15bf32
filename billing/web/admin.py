"""Admin of orders, payments and wallets. It confirms orders; only the ledger moves tokens."""

import re
from typing import Any, cast
from uuid import UUID

from django.contrib import admin, messages
from django.db.models import Q, QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.client_ip import client_ip
from accounts.model_admin.admin import ModelAdmin, ReadOnlyAdmin, ReadOnlyInline, operator
from accounts.model_admin.change_list import NumberedChangeList, UrgentFirstChangeList, in_lines
from accounts.models import Company
from billing.budgets import budgets
from billing.models import (
    BillingProfile,
    Budget,
    Order,
    Package,
    Payment,
    Seal,
    SealedDay,
    Seller,
    Tariff,
    Transfer,
    VatRegime,
    Wallet,
)
from billing.models.order import IS_OPEN, NEEDS_REVIEW
from billing.orders import payments
from billing.wallet.amounts import money
from billing.web import adjust_views, admin_views, payment_admin_views, price_admin, refund_admin
from billing.web.audited_admin import AuditedChangesAdmin
from billing.web.bank_transfers import admin as bank_transfer_admin
from billing.web.documents import admin as document_admin
from config.ids import parse_id, public_id
from config.input.integers import parse_integer

__all__ = [
    "bank_transfer_admin",
    "document_admin",
    "price_admin",
    "refund_admin",
]  # register their own
MOST_COMPANIES = 100  # whose transfers one search finds
HEAD = re.compile(r"[0-9a-f]{6,64}")  # or its beginning
INVOICE_NUMBER = re.compile(r"(\d{4})-(\d{1,9})")


@admin.register(Wallet)
class WalletAdmin(ReadOnlyAdmin):
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
        found = Q(company_id__in=_companies(text)) | Q(key__startswith=text)
        return queryset.filter(found), False

    def is_found_by_index(self, text: str) -> bool:
        return _message_id(text) is not None

    @admin.display(description=gettext_lazy("message"))
    def message(self, transfer: Transfer) -> str | None:
        return public_id("msg", transfer.message_id) if transfer.message_id else None


def _companies(text: str) -> list[int]:
    """Of this name or number. Read before what is theirs: joined, each row would look its up."""
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
        found = Q(company_id__in=_companies(text))
        if HEAD.fullmatch(text):
            found |= Q(head__startswith=text)
        return queryset.filter(found), False

    def is_found_by_index(self, text: str) -> bool:
        """One company's are; those of many, and heads, are looked for among the newest."""
        text = text.strip()
        return not HEAD.fullmatch(text) and len(_companies(text)) <= 1


@admin.register(SealedDay)
class SealedDayAdmin(ReadOnlyAdmin):
    list_display = ("day", "companies", "head", "created_at")
    ordering = ("-day",)


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


class PaymentsOfOrder(ReadOnlyInline):
    model = Payment
    fields = (
        *("created_at", "gateway", "payment_id", "amount", "currency"),
        *("is_credited", "problem", "reference", "paid_on", "confirmed_by", "settled_at"),
    )


@admin.register(Order)
class OrderAdmin(ReadOnlyAdmin):
    """Unpaid invoices come first: operators compare them with the bank's statement."""

    changelist = UrgentFirstChangeList
    urgent = f"{IS_OPEN} AND billing_order.invoice_number IS NOT NULL"
    ordering = ("-pk",)
    change_form_template = "admin/billing/order/change_form.html"
    list_display = ("__str__", "company", "tokens", "sum", "gateway", "state", "created_at")
    list_filter = ("state", "gateway")
    list_select_related = ("company",)
    search_fields = ("=company__id", "company__name__istartswith", "=payment_id")
    date_hierarchy = "created_at"
    inlines = (PaymentsOfOrder,)
    exclude = ("parties",)
    readonly_fields = ("parties_in_lines",)

    @admin.display(description=gettext_lazy("parties"))
    def parties_in_lines(self, order: Order) -> str:
        return in_lines(order.parties)

    def get_search_results(
        self, request: HttpRequest, queryset: QuerySet[Order], search_term: str
    ) -> tuple[QuerySet[Order], bool]:
        """An invoice by its number, a top-up by its id; else a company."""
        if match := INVOICE_NUMBER.fullmatch(search_term.strip()):
            return queryset.filter(invoice_year=match[1], invoice_number=match[2]), False
        if order_id := parse_id("top", search_term.strip()):
            return queryset.filter(pk=order_id), False
        return super().get_search_results(request, queryset, search_term)

    def is_found_by_index(self, text: str) -> bool:
        return bool(INVOICE_NUMBER.fullmatch(text.strip()) or parse_id("top", text.strip()))

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def sum(self, order: Order) -> str:
        return money(order.amount, order.currency)

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        return [
            path("<uuid:pk>/confirm/", guard(self.confirm), name="billing_order_confirm"),
            path("<uuid:pk>/cancel/", guard(self.cancel), name="billing_order_cancel"),
            *super().get_urls(),
        ]

    def confirm(self, request: HttpRequest, pk: Any) -> HttpResponse:
        return admin_views.confirm(request, self, pk)

    def cancel(self, request: HttpRequest, pk: Any) -> HttpResponse:
        return admin_views.cancel(request, self, pk)


class NeedsAttention(admin.SimpleListFilter):
    title = gettext_lazy("needs attention")
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, str]]:
        return [("yes", _("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Payment]) -> QuerySet[Payment]:
        if self.value() != "yes":
            return queryset
        payments_of_list: Any = queryset
        return cast("QuerySet[Payment]", payments_of_list.needs_review())


@admin.register(Payment)
class PaymentAdmin(ReadOnlyAdmin):
    """Payments; those that need review come first."""

    changelist = UrgentFirstChangeList
    urgent = NEEDS_REVIEW
    ordering = ("-pk",)
    list_display = (
        *("created_at", "company", "order", "money", "gateway", "is_credited", "problem"),
        "settled_at",
    )
    list_filter = (NeedsAttention, "problem", "gateway")
    list_select_related = ("order__company",)
    search_fields = ("=payment_id", "=reference", "order__company__name__istartswith")
    date_hierarchy = "created_at"
    actions = ("accept", "settle")
    change_form_template = "admin/billing/payment/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.settle_one)
        page = path("<int:pk>/<slug:action>/", view, name="billing_payment_settle")
        return [*super().get_urls()[:-1], page, super().get_urls()[-1]]

    def settle_one(self, request: HttpRequest, pk: int, action: str) -> HttpResponse:
        return payment_admin_views.settle(request, self, pk, action)

    @admin.display(description=gettext_lazy("company"))
    def company(self, payment: Payment) -> str:
        return str(payment.order.company) if payment.order else "—"

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def money(self, payment: Payment) -> str:
        return money(payment.amount, payment.currency)

    def has_handle_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("billing.change_payment")

    @admin.action(
        description=gettext_lazy("Credit the order with this payment anyway"),
        permissions=["handle"],
    )
    def accept(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        user, ip = operator(request), client_ip(request.META)
        count = sum(payments.accept(payment=payment, user=user, ip=ip) for payment in rows)
        text = ngettext("%(n)d order is credited.", "%(n)d orders are credited.", count)
        self.message_user(request, text % {"n": count}, _level(count))

    @admin.action(
        description=gettext_lazy("Mark as handled: the money was returned, for example"),
        permissions=["handle"],
    )
    def settle(self, request: HttpRequest, rows: QuerySet[Payment]) -> None:
        user, ip = operator(request), client_ip(request.META)
        count = sum(payments.settle(payment=payment, user=user, ip=ip) for payment in rows)
        text = ngettext("%(n)d payment is settled.", "%(n)d payments are settled.", count)
        self.message_user(request, text % {"n": count}, _level(count))


def _level(count: int) -> int:
    return messages.SUCCESS if count else messages.WARNING
