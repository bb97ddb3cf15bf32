"""The cabinet's overview: recent figures, recent messages and the quickstart."""

from typing import Any

from django.http import HttpResponse
from django.http.response import HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.utils.translation import gettext_lazy as _

from accounts.models import Mode
from accounts.people.cabinet_access import CabinetRequest, member_required
from billing.models import BillingProfile, Order
from billing.orders import prices
from billing.wallet import ledger
from cabinet.forms import grouped
from cabinet.spreadsheets import csv_download, page_of_filter
from channels.history import messages
from channels.history.breakdown import Dimension, breakdown, breakdowns, total_before
from channels.history.figures import DayRange, Figures, figures, has_verified
from channels.web.chart import Extra, chart
from channels.web.overview import breakdown_table
from channels.web.overview.breakdown_table import (
    HEADINGS,
    TITLES,
    compare_with_sms,
    dimension_of,
    rows_of,
    steps_of,
)
from channels.web.overview.notices import notices_for
from channels.web.periods import PeriodForm

UNDELIVERED = {"failed": _("%(n)s failed"), "expired": _("%(n)s expired")}


@member_required()
def overview(request: CabinetRequest) -> HttpResponse:
    company = request.company
    mode = _mode_of(request)
    period = PeriodForm(request.GET)
    sees_money = request.member.can_see_money and mode == Mode.LIVE
    balance = ledger.balance(company.pk) if request.member.can_see_money else None
    context = {
        "balance": balance,
        "notices": notices_for(company, available=balance.available if balance else None),
        "mode": mode,
        "period": period,
        "rows_url": f"{reverse('message-list')}?mode={mode}",
        "sees_money": sees_money,
        "token_price": prices.last_paid_price(company.pk) if sees_money else None,
        "recent": messages.recent(company, 5),
        **_figures_of_period(request, period.day_range(), mode, sees_money=sees_money),
        **_first_steps(request),
    }
    return render(request, "cabinet/overview.html", context)


def _mode_of(request: CabinetRequest) -> Mode:
    return Mode.TEST if request.GET.get("mode") == Mode.TEST else Mode.LIVE


def _figures_of_period(
    request: CabinetRequest, days: DayRange, mode: Mode, *, sees_money: bool
) -> dict[str, Any]:
    """The chart, the funnel and the breakdown of the period."""
    company = request.company
    by = dimension_of(request.GET.get("by", ""))
    summary = figures(company, mode, days)
    tables = breakdowns(company, mode, days, {by, Dimension.COUNTRY, Dimension.CHANNEL})
    before = total_before(company, mode, days)
    places = tables[Dimension.COUNTRY]
    channels = tables[Dimension.CHANNEL]
    return {
        "days_query": f"&date_from={days.first:%Y-%m-%d}&date_to={days.last:%Y-%m-%d}",
        "figures": summary,
        "missed": [
            (state, text % {"n": grouped(n)})
            for state, text in UNDELIVERED.items()
            if (n := summary.now.states[state])
        ],
        "chart": chart(summary.days, extras=_extras(summary, sees_money=sees_money)),
        "by": by,
        "by_title": TITLES[by],
        "by_heading": HEADINGS[by],
        "dimensions": TITLES,
        "breakdown": tables[by],
        "steps_taken": steps_of(tables[by].total, before),
        "before": before,
        "has_before": before.requested > 0,
        "breakdown_rows": list(rows_of(tables[by].shorten(), company)),
        "comparison": compare_with_sms(places, channels) if sees_money else None,
    }


def _extras(summary: Figures, *, sees_money: bool) -> list[Extra]:
    """Figures of a day that its bar does not draw."""
    failed = Extra(_("Not delivered"), summary.failed)
    spent = Extra(_("Tokens charged"), summary.now.spent_on)
    return [failed, spent] if sees_money else [failed]


@member_required()
def overview_csv(request: CabinetRequest) -> HttpResponseBase:
    """The breakdown shown on the page, with every row."""
    form = PeriodForm(request.GET)
    if form.is_own and not form.is_valid():
        return page_of_filter(request, "overview")
    mode = _mode_of(request)
    days = form.day_range()
    by = dimension_of(request.GET.get("by", ""))
    company = request.company
    table = breakdown(company, mode, days, by)
    rows = breakdown_table.csv_rows(table, company, sees_money=request.member.can_see_money)
    name = f"kvitok-{mode}-{by}-{days.first:%Y-%m-%d}-{days.last:%Y-%m-%d}.csv"
    return csv_download(rows, name)


@member_required()
def overview_quickstart(request: CabinetRequest) -> HttpResponse:
    """The quickstart fragment, polled by the page until all three steps are done."""
    context = _quickstart(request)
    if request.GET.get("done") == str(context["done"]):
        return HttpResponse(status=204)  # no swap: the user may be copying a command
    return render(request, "cabinet/quickstart.html", context)


def _first_steps(request: CabinetRequest) -> dict[str, Any]:
    """The first steps to show: an accountant's are about money, not about keys and a terminal."""
    if request.member.can_read_technical_pages:
        return _quickstart(request)
    orders = Order.objects.for_company(request.company)
    steps = {
        "billing_details": not BillingProfile.for_company(request.company).missing,
        "order": orders.exists(),
        "paid": orders.filter(state=Order.State.PAID).exists(),
    }
    return {"is_ready": True, "money_steps": {} if all(steps.values()) else steps}


def _quickstart(request: CabinetRequest) -> dict[str, Any]:
    company = request.company
    keys = list(company.api_keys.active().filter(purpose="")[:5])
    has_sent = company.messages.exists()  # by a key, or from the cabinet
    steps = {"key": bool(keys), "message": has_sent, "code": has_sent and has_verified(company)}
    return {
        "steps": steps,
        "done": sum(steps.values()),
        "is_ready": all(steps.values()),
        "quick_key": next((key for key in keys if key.mode == Mode.TEST), next(iter(keys), "")),
        "member": request.member,
    }
