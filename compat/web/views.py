"""The cabinet's page “Change one line”: what a program changes to come in by a dialect's door."""

from django.http import HttpResponse
from django.shortcuts import render

from accounts.people.roles import CabinetRequest, can_read_keys, member_required
from compat.web.client_lines import lines_for


@member_required(can_read_keys)
def client_lines(request: CabinetRequest) -> HttpResponse:
    """For the key that is asked for, else the newest."""
    keys = list(request.company.api_keys.active().exclude(purpose=""))
    asked = request.GET.get("key", "")
    chosen = next((key for key in keys if str(key.pk) == asked), next(iter(keys), None))
    page = {"keys": keys, "chosen": chosen, "lines": lines_for(chosen, "") if chosen else []}
    return render(request, "cabinet/client_lines.html", page)
