"""Admin of refunds and disputes: those that wait are settled by hand."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy

from accounts.model_admin.admin import ReadOnlyAdmin
from billing.models import Refund
from billing.web import payment_admin_views


class RefundReviewFilter(admin.SimpleListFilter):
    title = gettext_lazy("needs review")
    parameter_name = "review"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", gettext_lazy("tokens were spent, or the payment is not known"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.needs_review() if self.value() == "yes" else queryset  # type: ignore[attr-defined]


@admin.register(Refund)
class RefundAdmin(ReadOnlyAdmin):
    """What was spent before the money went back is settled by hand: *Change a balance*."""

    list_display = (
        "created_at", "company", "gateway", "refund_id", "amount", "currency",
        "tokens", "taken", "problem", "returned_at", "settled_at",
    )  # fmt: skip
    list_filter = (RefundReviewFilter, "gateway")
    list_select_related = ("payment__order__company",)
    search_fields = ("=refund_id", "=payment_reference")
    ordering = ("-pk",)
    change_form_template = "admin/billing/refund/change_form.html"

    def get_urls(self) -> list[URLPattern]:
        view = self.admin_site.admin_view(self.settle)
        return [path("<int:pk>/settle/", view, name="billing_refund_settle"), *super().get_urls()]

    def settle(self, request: HttpRequest, pk: int) -> HttpResponse:
        return payment_admin_views.settle_refund(request, self, pk)

    @admin.display(description=gettext_lazy("company"))
    def company(self, refund: Refund) -> str:
        order = refund.payment.order if refund.payment else None
        return str(order.company) if order else "—"
