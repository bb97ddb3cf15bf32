"""The cabinet's overview: recent figures, recent messages and the quickstart."""

from typing import Any

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render
from django.urls import reverse

from accounts.cabinet import replica_reads
from accounts.models import Member, Mode
from accounts.people.roles import CabinetRequest, member_required
from billing.models import Order
from billing.orders import billing_profiles
from billing.wallet import ledger
from channels.history import messages
from channels.history.figures import figures, has_verified
from channels.web.chart import chart
from channels.web.period_form import PeriodForm


@member_required()
def overview(request: CabinetRequest) -> HttpResponse:
    company = request.company
    mode = Mode.TEST if request.GET.get("mode") == Mode.TEST else Mode.LIVE
    period = PeriodForm(request.GET)
    shown = period.chosen()
    summary = replica_reads.read(request, lambda: figures(company, mode, shown))
    days_query = f"&date_from={shown.first:%Y-%m-%d}&date_to={shown.last:%Y-%m-%d}"
    context = {
        "balance": ledger.balance(company.pk) if request.member.can_see_money else None,
        "mode": mode,
        "period": period,
        "rows_url": f"{reverse('message-list')}?mode={mode}",
        "days_query": days_query,
        "figures": summary,
        "chart": chart(summary.days),
        "recent": replica_reads.read(request, lambda: messages.recent(company, 5)),
        **_first_steps(request),
    }
    return render(request, "cabinet/overview.html", context)


@member_required()
def overview_quickstart(request: CabinetRequest) -> HttpResponse:
    """The quickstart fragment, which the page polls until all three steps are done."""
    context = _quickstart(request)
    if request.GET.get("done") == str(context["done"]):
        return HttpResponse(status=204)  # no swap: the user may be copying a command
    return render(request, "cabinet/quickstart.html", context)


def _first_steps(request: CabinetRequest) -> dict[str, Any]:
    """An accountant's first steps are about money, not about keys and a terminal."""
    if request.member.role != Member.Role.ACCOUNTANT:
        return _quickstart(request)
    orders = Order.objects.of(request.company)
    steps = {
        "requisites": not billing_profiles.for_company(request.company).missing,
        "order": orders.exists(),
        "paid": orders.filter(state=Order.State.PAID).exists(),
    }
    return {"is_ready": True, "money_steps": {} if all(steps.values()) else steps}


def _quickstart(request: CabinetRequest) -> dict[str, Any]:
    company = request.company
    keys = list(company.api_keys.active()[:5])
    has_sent = company.messages.exists()  # by a key, or from the cabinet
    steps = {"key": bool(keys), "message": has_sent, "code": has_sent and has_verified(company)}
    return {
        "steps": steps,
        "done": sum(steps.values()),
        "is_ready": all(steps.values()),
        "quick_key": next((key for key in keys if key.mode == Mode.TEST), next(iter(keys), "")),
        "base_url": settings.PUBLIC_URL,
        "member": request.member,
    }
