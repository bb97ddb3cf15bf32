"""What a person chooses for themselves: name, language, time zone, shortcuts, fewer letters."""

from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import translation
from django.utils.translation import gettext as _
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts.audit.events import record
from accounts.cabinet.profile.form import ProfileForm
from accounts.client_ip import client_ip
from accounts.models import User
from accounts.outbox.notice_kinds import mute, read_unsubscribe_token
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


@require_http_methods(["GET", "HEAD", "POST"])
@csrf_exempt  # RFC 8058: the mail program posts; the token alone says who and what
def notice_unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """The page of a letter's link that ends letters of its kind; mail programs press it themselves.

    A GET changes nothing: scanners of mail follow every link.
    """
    found = read_unsubscribe_token(token)
    if found is None:
        return render(request, "account/unsubscribe_void.html", status=404)
    user, kind = found
    if request.method == "POST":
        with transaction.atomic():
            mute(user, kind)
            record("notices.muted", kind, company=None, user=user, ip=client_ip(request.META))
    with translation.override(user.language):
        context = {"kind": kind.label, "is_done": request.method == "POST"}
        return render(request, "account/unsubscribe.html", context)
