"""Before a dangerous act people prove once more who they are, however fresh their session is.

allauth keeps the proofs in the session. Three things of its own are not used: it stores a POST that
had to wait and carries it out after the proof, so that who holds a copy of the session could leave
one there for the owner to confirm; it takes the password of an account that has a second factor;
and it asks nothing of an account that has neither.
"""

import secrets
import time
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from allauth.account.adapter import get_adapter
from allauth.account.authentication import get_authentication_records
from allauth.core.exceptions import ReauthenticationRequired
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.translation import gettext as _

from accounts.models import User

FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
DRAFT = "reauthentication_draft"


class ReauthenticationNeeded(ReauthenticationRequired):
    """Raised by a view; `draft` is what was typed, to be shown again after the proof."""

    def __init__(self, draft: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.draft = draft


def has_factor(user: User) -> bool:
    return bool(is_mfa_enabled(user, FACTORS))


def is_fresh(request: HttpRequest) -> bool:
    """Whether who is signed in has proved it within the last minutes; signing in is no proof."""
    user = request.user
    if not isinstance(user, User):
        return False
    records = get_authentication_records(request, user)
    proofs = [one for one in records if one.get("reauthenticated")]
    if not proofs or time.time() - proofs[-1]["at"] >= settings.ACCOUNT_REAUTHENTICATION_TIMEOUT:
        return False
    return proofs[-1]["method"] == "mfa" or not has_factor(user)


def require(request: HttpRequest, form: forms.Form | None = None) -> None:
    """Raise unless the proof is fresh. What stands in the form is shown again after it."""
    if is_fresh(request):
        return
    raise ReauthenticationNeeded({field.name: field.data for field in form} if form else None)


def draft(request: HttpRequest) -> dict[str, Any]:
    """What was typed before the proof was asked for. The form is sent by the person anew: nothing
    is carried out that somebody else might have left in the session.
    """
    kept = request.session.get(DRAFT)
    if not kept or kept["token"] != request.GET.get("draft"):
        return {}
    if request.method == "GET":
        messages.info(request, _("Confirmed. Check what you entered and submit it again."))
    return dict(kept["fields"])


def challenge(
    request: HttpRequest, fields: Mapping[str, Any] | None = None
) -> HttpResponseRedirect:
    """To where it is proved, and back to the page that wanted it."""
    ways = get_adapter().get_reauthentication_methods(request.user)
    if not ways:  # neither a password nor a factor: only the mailbox is left
        messages.warning(request, _("Your account has no password yet. Set one by e-mail first."))
        return redirect("account_reset_password")
    then = request.get_full_path() if request.method == "GET" else request.path
    if fields is not None:
        token = secrets.token_urlsafe(12)
        request.session[DRAFT] = {"token": token, "fields": dict(fields)}
        then = f"{request.path}?{urlencode({'draft': token})}"
    return HttpResponseRedirect(f"{ways[0]['url']}?{urlencode({'next': then})}")
