"""The operator's pages: which top-up a transfer pays, and a statement as a file."""

import re
from typing import TYPE_CHECKING, Any

from django import forms
from django.contrib import messages
from django.contrib.admin import ModelAdmin
from django.core.exceptions import PermissionDenied, ValidationError
from django.http import HttpRequest, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from accounts.client_ip import client_ip
from accounts.model_admin.admin import operator
from billing.bank_statements import exchange_1c, matching, review
from billing.bank_statements.lines import StatementLine, numbered
from billing.models import BankTransfer, Order, Seller
from config.ids import parse_id
from config.input.form_fields import LineField

if TYPE_CHECKING:
    Admin = ModelAdmin[Any]
else:  # generic in the stubs alone
    Admin = ModelAdmin

INVOICE_NUMBER = re.compile(r"(\d{4})\s*-\s*(\d{1,9})")
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
            (RECEIVED, gettext_lazy("for the sum that came, at the price of the top-up")),
        ),
        initial="ordered",
        widget=forms.RadioSelect(attrs={"class": "radiolist"}),
    )

    def clean_order(self) -> Order:
        order = _find(self.cleaned_data["order"].strip())
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
        if file.size > exchange_1c.MOST_BYTES:
            raise ValidationError(_("The file is larger than 10 MB."))
        self.lines, self.unread = exchange_1c.parse(file.read(), account=self.account)
        if not self.lines:
            text = _("The file has no transfers of the account %(account)s.")
            raise ValidationError(text % {"account": self.account})
        return file


def assign(request: HttpRequest, admin: Admin, pk: int) -> HttpResponse:
    _require(request)
    transfer = get_object_or_404(BankTransfer.objects.select_related("order"), pk=pk)
    initial = {"order": str(transfer.order)} if transfer.order else {}
    form = AssignForm(request.POST or None, initial=initial)
    if request.method == "POST" and form.is_valid() and _assign(request, transfer, form):
        return redirect("admin:billing_banktransfer_changelist")
    context = {"transfer": transfer, "form": form, "candidates": _candidates(transfer)}
    return _render(request, admin, "assign", _("Credit a top-up"), context)


def _assign(request: HttpRequest, transfer: BankTransfer, form: AssignForm) -> bool:
    order, ip = form.cleaned_data["order"], client_ip(request.META)
    try:
        is_done = review.assign(
            transfer=transfer,
            order=order,
            user=operator(request),
            ip=ip,
            as_received=form.as_received,
        )
    except ValidationError as error:
        form.add_error("order", error)
        return False
    if is_done:
        text = _("%(order)s of %(company)s is credited: %(tokens)s tokens.")
        credited = transfer.order or order
        facts = {"order": credited, "company": order.company, "tokens": credited.tokens}
        messages.success(request, text % facts)
    else:
        messages.warning(request, _("This transfer is settled already."))
    return True


def _candidates(transfer: BankTransfer) -> list[Order]:
    """Open invoices of this amount."""
    orders = Order.objects.open().filter(amount=transfer.amount, currency=transfer.currency)
    return list(orders.select_related("company").order_by("-pk")[:SHOWN_CANDIDATES])


def _find(text: str) -> Order | None:
    orders = Order.objects.select_related("company")
    if match := INVOICE_NUMBER.fullmatch(text):
        return orders.filter(invoice_year=match[1], invoice_number=match[2]).first()
    order_id = parse_id("top", text)
    return orders.filter(pk=order_id).first() if order_id else None


def upload(request: HttpRequest, admin: Admin) -> HttpResponse:
    _require(request)
    seller = Seller.objects.first()
    form = UploadForm(
        request.POST or None, request.FILES or None, account=seller.account if seller else ""
    )
    if request.method == "POST" and form.is_valid():
        before = BankTransfer.objects.waiting().count()
        for line in numbered(form.lines):
            matching.receive(line)
        waiting = BankTransfer.objects.waiting().count() - before
        _tell(request, form, waiting)
        return redirect("admin:billing_banktransfer_changelist")
    return _render(request, admin, "upload", _("Upload a statement"), {"form": form})


def _tell(request: HttpRequest, form: UploadForm, waiting: int) -> None:
    count = len(form.lines)
    text = ngettext("%(n)d line is read.", "%(n)d lines are read.", count) % {"n": count}
    if waiting > 0:
        more = ngettext("%(n)d waits for a decision.", "%(n)d wait for a decision.", waiting)
        text = f"{text} {more % {'n': waiting}}"
    messages.success(request, text)
    if form.unread:
        text = ngettext(
            "%(n)d document could not be understood: look for it in the bank.",
            "%(n)d documents could not be understood: look for them in the bank.",
            form.unread,
        )
        messages.error(request, text % {"n": form.unread})


def _require(request: HttpRequest) -> None:
    if not request.user.has_perm("billing.change_banktransfer"):
        raise PermissionDenied


def _render(
    request: HttpRequest, admin: Admin, name: str, title: str, context: dict[str, Any]
) -> HttpResponse:
    shared = admin.admin_site.each_context(request) | {"title": title, "opts": admin.opts}
    return render(request, f"admin/billing/banktransfer/{name}.html", shared | context)
