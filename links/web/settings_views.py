"""The tab of short links in the company's settings."""

from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _

from accounts.client_ip import client_ip
from accounts.people import companies as accounts
from accounts.people.roles import (
    CabinetRequest,
    can_change_settings,
    can_read_settings,
    member_required,
)
from links.web.settings_form import LinkSettingsForm


@member_required(can_read_settings, can_change_settings)
def link_settings(request: CabinetRequest) -> HttpResponse:
    form = LinkSettingsForm(request.POST or None, company=request.company)
    if request.method == "POST" and form.is_valid():
        accounts.change_settings(
            company=request.company,
            user=request.user,
            changes=form.cleaned_data,
            ip=client_ip(request.META),
        )
        messages.success(request, _("Settings saved."))
        return redirect("link-settings")
    context = {
        "form": form,
        "stop": request.company.link_stops.filter(batch_id=None).first(),
    }
    return render(request, "cabinet/link_settings.html", context)
