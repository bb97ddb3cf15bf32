"""Transfers of the bank account in the admin: those that wait for a decision come first."""

from collections.abc import Callable
from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.urls import URLPattern, path
from django.utils.translation import gettext_lazy as _
from django.utils.translation import ngettext

from accounts.client_ip import client_ip
from accounts.model_admin.admin import ReadOnlyAdmin, operator
from accounts.model_admin.change_list import UrgentFirstChangeList
from billing.bank_statements import review
from billing.models import BankTransfer
from billing.models.bank_transfer import WAITS
from billing.wallet import amounts
from billing.web.bank_transfers import views as bank_transfer_views


class Waiting(admin.SimpleListFilter):
    title = _("needs attention")
    parameter_name = "attention"

    def lookups(self, request: HttpRequest, model_admin: Any) -> list[tuple[str, Any]]:
        return [("yes", _("Yes"))]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.waiting() if self.value() == "yes" else queryset  # type: ignore[attr-defined]


@admin.register(BankTransfer)
class BankTransferAdmin(ReadOnlyAdmin):
    changelist = UrgentFirstChangeList
    urgent = WAITS
    ordering = ("-pk",)
    change_list_template = "admin/billing/banktransfer/change_list.html"
    change_form_template = "admin/billing/banktransfer/change_form.html"
    list_display = (
        *("booked_on", "money", "verdict", "party_name", "party_inn", "purpose", "order"),
    )
    list_filter = (Waiting, "state", "problem", "direction", "source")
    list_select_related = ("order",)
    search_fields = ("=party_inn", "=document_number")
    search_help_text = _("The payer's INN, or the number of the payment order")
    actions = ("credit", "give_back", "take_back", "dismiss")

    @admin.display(description=_("amount"), ordering="amount")
    def money(self, transfer: BankTransfer) -> str:
        sign = "" if transfer.direction == BankTransfer.Direction.INCOMING else "−"
        return f"{sign}{amounts.money(transfer.amount, transfer.currency)}"

    @admin.display(description=_("state"))
    def verdict(self, transfer: BankTransfer) -> str:
        """Beside the amount: as the last column the reason was cut off."""
        if transfer.state == BankTransfer.State.REVIEW and transfer.problem:
            return f"{transfer.get_state_display()}: {transfer.get_problem_display()}"
        return transfer.get_state_display()

    def get_urls(self) -> list[URLPattern]:
        guard = self.admin_site.admin_view
        return [
            path("<int:pk>/assign/", guard(self.assign), name="billing_banktransfer_assign"),
            path("upload/", guard(self.upload), name="billing_banktransfer_upload"),
            *super().get_urls(),
        ]

    def assign(self, request: HttpRequest, pk: int) -> HttpResponse:
        return bank_transfer_views.assign(request, self, pk)

    def upload(self, request: HttpRequest) -> HttpResponse:
        return bank_transfer_views.upload(request, self)

    def has_handle_permission(self, request: HttpRequest) -> bool:
        return request.user.has_perm("billing.change_banktransfer")

    @admin.action(description=_("Credit the top-up that it names"), permissions=["handle"])
    def credit(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        named = rows.filter(order__isnull=False).select_related("order")
        self._each(request, named, _assign_to_named)

    @admin.action(description=_("Return to the payer: nothing is credited"), permissions=["handle"])
    def give_back(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._each(request, rows, review.mark_returned)

    @admin.action(
        description=_("Take the tokens back: the money was returned"), permissions=["handle"]
    )
    def take_back(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._each(request, rows, review.take_back)

    @admin.action(description=_("Not a top-up"), permissions=["handle"])
    def dismiss(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._each(request, rows, review.dismiss)

    def _each(
        self, request: HttpRequest, rows: QuerySet[BankTransfer], verb: Callable[..., bool]
    ) -> None:
        user, ip = operator(request), client_ip(request.META)
        count = 0
        for transfer in rows:
            try:
                count += verb(transfer=transfer, user=user, ip=ip)
            except ValidationError as error:
                self.message_user(request, error.messages[0], messages.ERROR)
        text = ngettext("%(n)d transfer is settled.", "%(n)d transfers are settled.", count)
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, text % {"n": count}, level)


def _assign_to_named(*, transfer: BankTransfer, **more: Any) -> bool:
    assert transfer.order is not None  # noqa: S101 - the action has chosen those
    return review.assign(transfer=transfer, order=transfer.order, **more)
