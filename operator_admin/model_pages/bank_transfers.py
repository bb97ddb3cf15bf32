"""Bank transfers in the admin: which top-up each pays, and uploaded statements."""

from collections.abc import Callable
from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import ValidationError
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from billing.bank_statements import exchange_1c, matching, review
from billing.bank_statements.matching import StatementLine, numbered
from billing.models import BankTransfer, Order, Seller
from billing.models.bank_transfer import WAITS
from billing.wallet import amounts
from operator_admin.model_pages.bases import ActionAdmin, actor
from operator_admin.model_pages.change_list import NEEDS_ATTENTION, UrgentFirstChangeList
from parsing.form_fields import LineField

SHOWN_CANDIDATES = 10
RECEIVED = "received"


class AssignForm(forms.Form):
    order = LineField(
        label=gettext_lazy("invoice or top-up"),
        max_length=40,
        help_text=gettext_lazy("Its number, such as 2026-17, or its id, which begins with top_."),
    )

    tokens = forms.ChoiceField(
        label=gettext_lazy("credit"),
        choices=(
            ("ordered", gettext_lazy("the whole top-up")),
            (RECEIVED, gettext_lazy("for the sum that arrived, at the price of the top-up")),
        ),
        initial="ordered",
        widget=forms.RadioSelect(attrs={"class": "radiolist"}),
    )

    def clean_order(self) -> Order:
        orders = Order.objects.select_related("company").named(self.cleaned_data["order"])
        order = orders.first() if orders is not None else None
        if order is None:
            raise ValidationError(_("There is no such top-up."))
        return order

    @property
    def as_received(self) -> bool:
        return bool(self.cleaned_data["tokens"] == RECEIVED)


class UploadForm(forms.Form):
    file = forms.FileField(
        label=gettext_lazy("file"),
        help_text=gettext_lazy(
            "Statement of the seller's account in the format 1CClientBankExchange: the bank's "
            "website exports it for 1C. A line that was already read changes nothing."
        ),
    )

    def __init__(self, *args: Any, account: str, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.account = account
        self.lines: list[StatementLine] = []
        self.unread = 0

    def clean_file(self) -> Any:
        file = self.cleaned_data["file"]
        if file.size > exchange_1c.MAX_BYTES:
            raise ValidationError(_("The file is larger than 3 MB: export fewer days."))
        self.lines, self.unread = exchange_1c.parse(file.read(), account=self.account)
        if not (self.lines or self.unread):
            text = _("The file has no transfers of the account %(account)s.")
            raise ValidationError(text % {"account": self.account})
        return file


def _assign(request: HttpRequest, transfer: BankTransfer, form: AssignForm) -> bool:
    order = form.cleaned_data["order"]
    credit = {"transfer": transfer, "order": order, "as_received": form.as_received}
    try:
        is_done = review.assign(**credit, **actor(request))
    except ValidationError as error:
        form.add_error("order", error)
        return False
    if is_done:
        text = _("%(order)s of %(company)s is credited: %(tokens)s tokens.")
        credited = transfer.order or order
        values = {"order": credited, "company": order.company, "tokens": credited.tokens}
        messages.success(request, text % values)
    else:
        messages.warning(request, _("This transfer is settled already."))
    return True


def _candidates(transfer: BankTransfer) -> list[Order]:
    """Open invoices of this amount."""
    orders = Order.objects.open().filter(amount=transfer.amount, currency=transfer.currency)
    return list(orders.select_related("company").order_by("-pk")[:SHOWN_CANDIDATES])


def _show_counts(request: HttpRequest, form: UploadForm, waiting: int) -> None:
    count = len(form.lines)
    text = ngettext("%(n)d line is read.", "%(n)d lines are read.", count) % {"n": count}
    if waiting > 0:
        waiting_text = ngettext(
            "%(n)d waits for a decision.", "%(n)d wait for a decision.", waiting
        )
        text = f"{text} {waiting_text % {'n': waiting}}"
    messages.success(request, text)
    if form.unread:
        text = ngettext(
            "%(n)d document could not be understood: look for it in the bank.",
            "%(n)d documents could not be understood: look for them in the bank.",
            form.unread,
        )
        messages.error(request, text % {"n": form.unread})


@admin.register(BankTransfer)
class BankTransferAdmin(ActionAdmin):
    changelist = UrgentFirstChangeList
    urgent = WAITS
    ordering = ("-pk",)
    change_list_template = "admin/billing/banktransfer/change_list.html"
    change_form_template = "admin/billing/banktransfer/change_form.html"
    list_display = (
        *(
            "booked_on",
            "signed_amount",
            "described_state",
            "party_name",
            "party_inn",
            "purpose",
            "order",
        ),
    )
    list_filter = (NEEDS_ATTENTION, "state", "problem", "direction", "source")
    list_select_related = ("order",)
    search_fields = ("=party_inn", "=document_number")
    search_help_text = gettext_lazy("The payer's INN, or the number of the payment order")
    actions = ("credit", "give_back", "take_back", "dismiss")
    pages = (
        ("<int:pk>/assign/", "billing_banktransfer_assign", "assign"),
        ("upload/", "billing_banktransfer_upload", "upload"),
    )

    @admin.display(description=gettext_lazy("amount"), ordering="amount")
    def signed_amount(self, transfer: BankTransfer) -> str:
        sign = "" if transfer.direction == BankTransfer.Direction.INCOMING else "−"
        return f"{sign}{amounts.money(transfer.amount, transfer.currency)}"

    @admin.display(description=gettext_lazy("state"))
    def described_state(self, transfer: BankTransfer) -> str:
        """The state with the problem; not in the last column, whose text would be cut off."""
        if transfer.state == BankTransfer.State.REVIEW and transfer.problem:
            return f"{transfer.get_state_display()}: {transfer.get_problem_display()}"
        return transfer.get_state_display()

    def assign(self, request: HttpRequest, pk: int) -> HttpResponse:
        self.require_handling(request)
        transfer = get_object_or_404(BankTransfer.objects.select_related("order"), pk=pk)
        initial = {"order": str(transfer.order)} if transfer.order else {}
        form = AssignForm(request.POST or None, initial=initial)
        if request.method == "POST" and form.is_valid() and _assign(request, transfer, form):
            return redirect("admin:billing_banktransfer_changelist")
        context = {"transfer": transfer, "form": form, "candidates": _candidates(transfer)}
        return self.page(request, "banktransfer/assign", _("Credit a top-up"), context, transfer)

    def upload(self, request: HttpRequest) -> HttpResponse:
        self.require_handling(request)
        seller = Seller.objects.first()
        account = seller.account if seller else ""
        form = UploadForm(request.POST or None, request.FILES or None, account=account)
        if request.method == "POST" and form.is_valid():
            before = BankTransfer.objects.needs_review().count()
            for line in numbered(form.lines):
                matching.receive(line)
            _show_counts(request, form, BankTransfer.objects.needs_review().count() - before)
            return redirect("admin:billing_banktransfer_changelist")
        return self.page(request, "act", _("Upload a statement"), {"form": form})

    @admin.action(
        description=gettext_lazy("Credit the top-up that it names"), permissions=["handle"]
    )
    def credit(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        assignable = rows.filter(order__isnull=False).select_related("order")
        self._apply_to_each(request, assignable, _assign_to_named)

    @admin.action(
        description=gettext_lazy("Return to the payer: nothing is credited"), permissions=["handle"]
    )
    def give_back(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._apply_to_each(request, rows, review.mark_returned)

    @admin.action(
        description=gettext_lazy("Take the tokens back: the money was returned"),
        permissions=["handle"],
    )
    def take_back(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._apply_to_each(request, rows, review.take_back)

    @admin.action(description=gettext_lazy("Not a top-up"), permissions=["handle"])
    def dismiss(self, request: HttpRequest, rows: QuerySet[BankTransfer]) -> None:
        self._apply_to_each(request, rows, review.dismiss)

    def _apply_to_each(
        self, request: HttpRequest, rows: QuerySet[BankTransfer], verb: Callable[..., bool]
    ) -> None:
        count = 0
        for transfer in rows:
            try:
                count += verb(transfer=transfer, **actor(request))
            except ValidationError as error:
                self.message_user(request, error.messages[0], messages.ERROR)
        text = ngettext("%(n)d transfer is settled.", "%(n)d transfers are settled.", count)
        level = messages.SUCCESS if count else messages.WARNING
        self.message_user(request, text % {"n": count}, level)


def _assign_to_named(*, transfer: BankTransfer, **more: Any) -> bool:
    assert transfer.order is not None  # noqa: S101 - the action selects only those
    return review.assign(transfer=transfer, order=transfer.order, **more)
