"""A company's member dismisses a notice."""

from django.http import HttpResponse
from django.shortcuts import redirect
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_POST

from accounts.people.roles import CabinetRequest, anyone, member_required
from operator_admin.incidents import notices


@require_POST
@member_required(anyone, anyone)
def dismiss(request: CabinetRequest, incident: int, update: int) -> HttpResponse:
    notices.dismiss(request.session, f"{incident}:{update}")
    if request.htmx:
        return HttpResponse()
    then = request.POST.get("next", "")
    is_ours = url_has_allowed_host_and_scheme(
        then, {request.get_host()}, require_https=request.is_secure()
    )
    return redirect(then if is_ours else "overview")
