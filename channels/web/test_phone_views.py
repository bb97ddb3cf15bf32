"""The Test phone page: messages of test keys as the recipient would see them."""

from django.conf import settings
from django.http import HttpResponse
from django.shortcuts import render

from accounts.models import Mode
from accounts.people.roles import CabinetRequest, can_read_keys, member_required
from channels.history import messages
from channels.history import test_phone as test_phone_history
from channels.routing import test_numbers
from channels.web.forms import PhoneFilter


@member_required(can_read_keys)
def test_phone(request: CabinetRequest) -> HttpResponse:
    form = PhoneFilter(request.GET, member=request.member)
    chosen = form.chosen() | {"mode": Mode.TEST}
    page = messages.search(request.company, chosen, request.GET)
    fingerprint = test_phone_history.fingerprint(page.rows)
    if request.htmx and request.GET.get("seen") == fingerprint:
        return HttpResponse(status=204)  # no swap: the user may be copying a code
    scripted = test_numbers.OUTCOMES.items()
    context = {
        "form": form,
        "page": page,
        "screens": test_phone_history.phone_screens(page.rows),
        "stamp": fingerprint,
        "is_first": not request.GET.get("cursor"),
        "is_filtered": bool(form.chosen()),
        "magic": [(digits, *outcome) for digits, outcome in scripted],
        "base_url": settings.PUBLIC_URL,
    }
    return render(request, "cabinet/test_phone.html", context)
