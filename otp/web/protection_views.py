"""The cabinet's page of the protection against SMS pumping."""

from typing import Any

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.client_ip import client_ip
from accounts.models import GuardMode
from accounts.people.roles import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
    nobody,
)
from billing.budgets import budgets
from billing.wallet import ledger
from otp.models import GuardReplay, GuardRestriction
from otp.protection import restrictions, week_replay
from otp.web.protection_forms import LetThroughForm, ModeForm

HISTORY = 50  # restrictions that are over


@member_required(can_read_settings)
def protection(request: CabinetRequest) -> HttpResponse:
    return _page(request, LetThroughForm(company=request.company))


def _page(request: CabinetRequest, form: LetThroughForm) -> HttpResponse:
    rows = GuardRestriction.objects.filter(company=request.company).order_by("-began_at", "-pk")
    open_now = list(rows.filter(ended_at=None).select_related("lifted_by"))
    whole_day, *_hours = budgets.usage(request.company.pk, [])
    available, _held = ledger.balance(request.company.pk)
    context = {
        "mode_form": ModeForm(
            initial={
                "mode": request.company.guard_mode,
                "watches_others": request.company.guard_watches_others,
            }
        ),
        "form": form,
        "restrictions": [row for row in open_now if row.step != GuardRestriction.Step.ALLOW],
        "let_through": [row for row in open_now if row.step == GuardRestriction.Step.ALLOW],
        "over": rows.filter(ended_at__isnull=False).select_related("lifted_by")[:HISTORY],
        "replay": _replay(request),
        "most_lost": min(available, whole_day.left),
        "is_off": request.company.guard_mode == GuardMode.OFF,
        "is_watching": request.company.guard_mode == GuardMode.WATCH,
        "days": week_replay.DAYS,
    }
    return render(request, "cabinet/protection.html", context)


def _replay(request: CabinetRequest) -> GuardReplay | None:
    return GuardReplay.objects.filter(company=request.company).first()


@require_POST
@member_required(nobody, can_change_settings)
def protection_mode(request: CabinetRequest) -> HttpResponse:
    form = ModeForm(request.POST)
    if not form.is_valid():
        return redirect("protection")
    company, values, actor = request.company, form.cleaned_data, _actor(request)
    changes = [
        restrictions.set_mode(company=company, mode=values["mode"], **actor),
        restrictions.watch_others(company=company, watches=values["watches_others"], **actor),
    ]
    if any(changes):
        messages.success(request, _("Saved; it takes effect within two seconds."))
    return redirect("protection")


@require_POST
@member_required(nobody, can_change_settings)
def protection_let_through(request: CabinetRequest) -> HttpResponse:
    form = LetThroughForm(request.POST, company=request.company)
    if not form.is_valid():
        return _page(request, form)
    restrictions.let_through(
        company=request.company,
        scope=form.scope(),
        country=form.of_country,
        **_actor(request),
    )
    messages.success(request, _("Sends there pass for an hour."))
    return redirect("protection")


@member_required(can_change_settings, can_change_settings)
def protection_lift(request: CabinetRequest, pk: int) -> HttpResponse:
    restriction = get_object_or_404(
        GuardRestriction.objects.exclude(step=GuardRestriction.Step.ALLOW),
        company=request.company,
        pk=pk,
    )
    if request.method == "POST":
        restrictions.lift(restriction=restriction, **_actor(request))
        messages.success(request, _("Lifted: sends there pass for an hour."))
        return redirect("protection")
    if restriction.ended_at is not None:
        messages.info(request, _("This is over already."))
        return redirect("protection")
    return render(request, "cabinet/protection_lift.html", {"restriction": restriction})


@require_POST
@member_required(nobody, can_change_settings)
def protection_replay(request: CabinetRequest) -> HttpResponse:
    week_replay.ask(request.company)
    return redirect("protection")


@require_GET
@member_required(can_read_settings)
def protection_replay_status(request: CabinetRequest) -> HttpResponse:
    """Asked for every two seconds while it is being made."""
    context = {"replay": _replay(request), "days": week_replay.DAYS, "member": request.member}
    return render(request, "cabinet/protection_replay.html", context)


def _actor(request: CabinetRequest) -> dict[str, Any]:
    return {"user": request.user, "ip": client_ip(request.META)}
