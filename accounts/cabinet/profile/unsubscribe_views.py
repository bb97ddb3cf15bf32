"""The page of a letter's link that ends letters of its kind; mail programs press it themselves."""

from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import translation
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from accounts.audit.events import record
from accounts.client_ip import client_ip
from accounts.outbox import unsubscribing
from accounts.outbox.notice_kinds import mute


@require_http_methods(["GET", "HEAD", "POST"])
@csrf_exempt  # RFC 8058: the mail program posts; the token alone says who and what
def notice_unsubscribe(request: HttpRequest, token: str) -> HttpResponse:
    """A GET changes nothing: scanners of mail follow every link."""
    found = unsubscribing.read(token)
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
