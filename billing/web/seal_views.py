"""The cabinet's page of seals: hashes by which a company proves its statement."""

from django.http import HttpResponse, JsonResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from accounts.api.pagination import forgiving_page_of
from accounts.people.roles import CabinetRequest, can_see_money, member_required
from billing.models import Seal
from billing.models.seal import SealQuerySet
from billing.web.calls import SEAL


@require_GET
@member_required(can_see_money)
def seals(request: CabinetRequest) -> HttpResponse:
    page = forgiving_page_of(_seals(request).last_of_months(), request.GET)
    context = {"page": page, "is_first": not request.GET.get("cursor")}
    return render(request, "billing/seals.html", context)


@require_GET
@member_required(can_see_money)
def heads(request: CabinetRequest) -> HttpResponse:
    """Every day's, as `GET /seals` has them: a few hundred a year."""
    rows = _seals(request).order_by("day")
    body = {"data": [SEAL.body_of(seal) for seal in rows.defer("parts")]}
    response = JsonResponse(body, json_dumps_params={"indent": 1})
    response["Content-Disposition"] = 'attachment; filename="heads.json"'
    return response


def _seals(request: CabinetRequest) -> SealQuerySet:
    return Seal.objects.filter(company=request.company)
