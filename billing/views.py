"""The cabinet's pages about money: the balance, the statement, requisites."""

from django.conf import settings
from django.contrib import messages
from django.core.exceptions import ValidationError
from django.http import HttpResponse, StreamingHttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.addresses import client_ip
from accounts.numbers import GroupedIntegerField
from accounts.paging import page_of
from accounts.roles import CabinetRequest, can_manage_money, can_see_money, member_required
from accounts.services import record
from accounts.spreadsheet import csv_lines
from billing import ledger, offers, orders, profiles
from billing import statement as statements
from billing.forms import AlertForm, ProfileForm, StatementFilter, TopUpForm
from billing.models import Order, Tariff
from config.errors import DomainError

RECENT = 5


@member_required(can_see_money, can_manage_money)
def balance(request: CabinetRequest) -> HttpResponse:
    """What there is, what it is enough for, and more of it: a POST places an order."""
    form = TopUpForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        order = _place(request, form)
        if order is not None:
            return redirect("balance-order", order.public_id)
    company, profile = request.company, profiles.of(request.company)
    available, held = ledger.balance(company.pk)
    recent = list(statements.matching(company, {}).order_by("-created_at", "-id")[:RECENT])
    context = {
        "available": available,
        "held": held,
        "sends": offers.sends(available),
        "form": form,
        "tariffs": Tariff.objects.all(),
        "currency": settings.CURRENCY,
        "alert": AlertForm(initial={"low_balance": profile.low_balance}),
        "is_low": available < profile.low_balance,
        "open_orders": Order.objects.of(company).open().order_by("-created_at")[:RECENT],
        "lines": statements.with_balances(company, recent),
    }
    return render(request, "billing/balance.html", context)


@require_GET
@member_required(can_see_money)
def quote(request: CabinetRequest) -> HttpResponse:
    """What a typed number of tokens costs, while it is typed."""
    tokens = GroupedIntegerField(required=False)
    try:
        found = offers.of_tokens(tokens.clean(request.GET.get("tokens", "")) or 0)
    except ValidationError:
        found = None
    return render(request, "billing/quote.html", {"quote": found, "fewest": offers.fewest()})


@require_POST
@member_required(can_see_money, can_manage_money)
def alert(request: CabinetRequest) -> HttpResponse:
    form = AlertForm(request.POST)
    if form.is_valid():
        profiles.change(
            company=request.company,
            user=request.user,
            changes=form.cleaned_data,
            ip=client_ip(request.META),
        )
        messages.success(request, _("The settings are saved."))
    else:
        messages.error(request, " ".join(map(str, form.errors["low_balance"])))
    return redirect("balance")


@member_required(can_see_money)
def statement(request: CabinetRequest) -> HttpResponse:
    form = StatementFilter(request.GET)
    rows = statements.matching(request.company, form.chosen())
    try:
        page = page_of(rows, request.GET)
    except DomainError:  # a cursor that is none of ours: the page from its beginning
        page = page_of(rows, {})
    context = {
        "form": form,
        "is_filtered": bool(form.chosen()),
        "is_first": not request.GET.get("cursor"),
        "page": page,
        "lines": statements.with_balances(request.company, page.rows),
    }
    return render(request, "billing/statement.html", context)


@require_GET
@member_required(can_see_money)
def export(request: CabinetRequest) -> HttpResponse:
    chosen = StatementFilter(request.GET).chosen()
    record(
        "statement.exported",
        ", ".join(f"{name}={value}" for name, value in chosen.items()) or "—",
        company=request.company,
        user=request.user,
        ip=client_ip(request.META),
    )
    rows = statements.export(request.company, chosen)
    response = StreamingHttpResponse(
        csv_lines(rows, get_language() or "ru"), content_type="text/csv; charset=utf-8"
    )
    name = f"kvitok-statement-{timezone.localdate():%Y-%m-%d}.csv"
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response  # type: ignore[return-value]


@member_required(can_see_money, can_manage_money)
def profile(request: CabinetRequest) -> HttpResponse:
    stored = profiles.of(request.company)
    form = ProfileForm(request.POST or None, instance=stored, company=request.company)
    if request.method == "POST" and form.is_valid():
        profiles.change(
            company=request.company,
            user=request.user,
            changes=form.cleaned_data,
            ip=client_ip(request.META),
        )
        messages.success(request, _("The requisites are saved."))
        return redirect("balance-profile")
    return render(request, "billing/profile.html", {"form": form})


def _place(request: CabinetRequest, form: TopUpForm) -> Order | None:
    """The order, or None with its refusal on the form."""
    data = form.cleaned_data
    try:
        return orders.place(
            company=request.company,
            quote=data["quote"],
            gateway=form.gateways[data["gateway"]],
            by=orders.By(user=request.user, ip=client_ip(request.META)),
        )
    except DomainError as error:
        body = error.body(language=(get_language() or "ru")[:2], request_id="")
        form.add_error(None, body["message"])
        return None
