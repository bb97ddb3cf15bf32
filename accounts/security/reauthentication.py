"""Reauthentication before sensitive actions, however fresh the session is.

allauth stores the authentication records in the session. Three of its behaviours are avoided: it
stores a pending POST and executes it after reauthentication, so the holder of a stolen session
could leave one for the owner to confirm; it accepts the password of an account that has a second
factor; and it asks nothing of an account that has neither.
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
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect
from django.utils.translation import gettext as _
from django_htmx.http import HttpResponseClientRedirect
from django_htmx.middleware import HtmxDetails

from accounts.models import User

FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]
DRAFT = "reauthentication_draft"
# Characters. Fields are validated without the spaces around them: a valid form may have 500,000.
MAX_DRAFT = 20_000


class ReauthenticationNeeded(ReauthenticationRequired):
    """Raised by a view; `draft` holds the form input, shown again after reauthentication."""

    def __init__(self, draft: Mapping[str, Any] | None = None) -> None:
        super().__init__()
        self.draft = draft


def has_factor(user: User) -> bool:
    return bool(is_mfa_enabled(user, FACTORS))


def is_fresh(request: HttpRequest) -> bool:
    """Whether the user reauthenticated recently; signing in does not count."""
    user = request.user
    if not isinstance(user, User):
        return False
    records = get_authentication_records(request, user)
    proofs = [record for record in records if record.get("reauthenticated")]
    if not proofs or time.time() - proofs[-1]["at"] >= settings.ACCOUNT_REAUTHENTICATION_TIMEOUT:
        return False
    return proofs[-1]["method"] == "mfa" or not has_factor(user)


def require(request: HttpRequest, form: forms.BaseForm | None = None) -> None:
    """Raises unless reauthentication is fresh. The form input is shown again afterwards."""
    if is_fresh(request):
        return
    raise ReauthenticationNeeded({field.name: field.data for field in form} if form else None)


def draft(request: HttpRequest) -> dict[str, Any]:
    """The form input from before reauthentication. The user submits the form again: nothing that
    somebody else may have left in the session is executed.
    """
    stored = request.session.get(DRAFT)
    if request.method != "GET" or not stored or stored["token"] != request.GET.get("draft"):
        return {}
    messages.info(request, _("Confirmed. Check what you entered and submit it again."))
    return dict(stored["fields"])


def challenge(request: HttpRequest, fields: Mapping[str, Any] | None = None) -> HttpResponse:
    """Redirects to reauthentication, and from there back to this page."""
    htmx: HtmxDetails | None = getattr(request, "htmx", None)
    methods = get_adapter().get_reauthentication_methods(request.user)
    if not methods:  # neither password nor factor: only the mailbox is left
        messages.warning(request, _("Your account has no password yet. Set one by e-mail first."))
        return redirect("account_reset_password")
    next_url = request.get_full_path() if request.method == "GET" else request.path
    if fields is not None and len(str(dict(fields))) <= MAX_DRAFT:
        token = secrets.token_urlsafe(12)
        request.session[DRAFT] = {"token": token, "fields": dict(fields)}
        next_url = f"{request.path}?{urlencode({'draft': token})}"
    url = f"{methods[0]['url']}?{urlencode({'next': next_url})}"
    # htmx would look for the form's target in the page that the redirect leads to.
    swaps_a_part = htmx and not htmx.boosted
    return HttpResponseClientRedirect(url) if swaps_a_part else HttpResponseRedirect(url)
