"""Pages about the provider: signing in, the way back, and a user's own identity there."""

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.models import User
from accounts.oidc import flow, identities
from accounts.security.provider_sessions import identity_of


@require_POST
@flow.view
def start(request: HttpRequest) -> HttpResponse:
    if limited := ratelimit.consume_or_429(request, action="sso"):
        return limited
    return flow.leave(request, flow.SIGN_IN, get_next_redirect_url(request) or "")


@require_GET
@flow.view
def callback(request: HttpRequest) -> HttpResponse:
    if limited := ratelimit.consume_or_429(request, action="sso"):
        return limited
    return flow.come_back(request)


@require_GET
@login_required
@flow.view
def required(request: HttpRequest) -> HttpResponse:
    """What was asked for is open to sessions of the provider, which this one is not."""
    then = get_next_redirect_url(request) or ""
    return render(request, "account/sso_required.html", {"next": then})


def _user(request: HttpRequest) -> User:
    assert isinstance(request.user, User)  # noqa: S101 - behind login_required
    return request.user


@login_required
@flow.view
def identity(request: HttpRequest) -> HttpResponse:
    return render(request, "account/sso_identity.html", {"identity": identity_of(_user(request))})


@login_required
@flow.view
def connect(request: HttpRequest) -> HttpResponse:
    """Opened after a fresh proof: `accounts.security.middleware`."""
    if identity_of(_user(request)):
        return redirect("sso-identity")
    if request.method == "POST":
        if limited := ratelimit.consume_or_429(request, action="sso"):
            return limited
        return flow.leave(request, flow.CONNECT)
    return render(request, "account/sso_connect.html")


@login_required
@flow.view
def disconnect(request: HttpRequest) -> HttpResponse:
    """Opened after a fresh proof, and only while something else opens the account."""
    user = _user(request)
    if not identity_of(user):
        return redirect("sso-identity")
    if not user.has_usable_password():
        messages.warning(request, _("Set a password first, or you could not sign in."))
        return redirect("sso-identity")
    if request.method == "POST":
        identities.unlink(user, request)
        text = _("%(provider)s no longer opens your account.")
        messages.success(request, text % {"provider": settings.OIDC_NAME})
        return redirect("sso-identity")
    return render(request, "account/sso_disconnect.html")


@login_required
@flow.view
def reauthenticate(request: HttpRequest) -> HttpResponse:
    if not identity_of(_user(request)):
        return redirect("sso-identity")
    then = get_next_redirect_url(request) or ""
    if request.method == "POST":
        if limited := ratelimit.consume_or_429(request, action="sso"):
            return limited
        # With max_age the answer has `auth_time`, which tells whether the provider did ask anew.
        age = str(settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)
        return flow.leave(request, flow.REAUTHENTICATE, then, prompt="login", max_age=age)
    return render(request, "account/sso_reauthenticate.html", {"next": then})
