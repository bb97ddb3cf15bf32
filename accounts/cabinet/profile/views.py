"""The page of what a person chooses for themselves: name, language, time zone, shortcuts."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _

from accounts.cabinet.profile.form import ProfileForm
from accounts.models import User
from accounts.sign_in.adapter import remember_language


@login_required
def profile(request: HttpRequest) -> HttpResponse:
    assert isinstance(request.user, User)  # noqa: S101 - behind login_required
    form = ProfileForm(request.POST or None, instance=request.user)
    if request.method != "POST" or not form.is_valid():
        return render(request, "account/profile.html", {"form": form})
    user = form.save()
    with translation.override(user.language):  # the next page is in it
        messages.success(request, _("Saved."))
    response = redirect("profile")
    remember_language(response, user.language)
    return response
