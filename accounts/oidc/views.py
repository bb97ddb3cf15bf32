"""Pages for the provider: sign-in, callback, and the user's own identity there."""

import secrets
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import structlog
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.decorators import login_required
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _
from django.views.decorators.http import require_GET, require_POST

from accounts.audit import record_authentication_event
from accounts.form_pages import PageLink, confirm_page
from accounts.models import User
from accounts.oidc import identities, tokens
from accounts.oidc.provider import ID, Provider, redirect_uri
from accounts.oidc.refusals import DEFAULT_STATUS, STATUSES, TEXTS, Reason, RefusedError
from accounts.oidc.tokens import Claims
from accounts.security import sessions
from accounts.security.sessions import identity_of
from accounts.security.views import signed_in_user

log = structlog.get_logger(__name__)
P = ParamSpec("P")
State = dict[str, Any]
SIGN_IN = "login"
CONNECT = "connect"
REAUTHENTICATE = "reauthenticate"
CLOCK_SKEW = tokens.LEEWAY


def provider_page(
    function: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """Decorates a page about the provider: 404 without one; a RefusedError becomes a page."""

    @wraps(function)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not sessions.has_provider():
            raise Http404
        try:
            return function(request, *args, **kwargs)
        except RefusedError as error:
            return refuse(request, error)

    return wrapped


def refuse(request: HttpRequest, error: RefusedError) -> HttpResponse:
    log.warning("oidc_refused", reason=error.reason.value, detail=error.detail)
    names = {"provider": settings.OIDC_NAME}
    title, text = (str(template) % names for template in TEXTS[error.reason])
    context = {"title": title, "text": text, "reason": error.reason.value}
    status = STATUSES.get(error.reason, DEFAULT_STATUS)
    return render(request, "account/sso_refused.html", context, status=status)


def begin_authorization(
    request: HttpRequest, process: str, next_url: str = "", **params: str
) -> HttpResponse:
    """Redirects to the provider by a page with a Refresh header: under `form-action 'self'`
    Chromium blocks the redirect of a form to the provider, and to any site that it leads through.
    """
    if limited := ratelimit.consume_or_429(request, action="sso", limit_get=True):
        return limited
    nonce = secrets.token_urlsafe(32)
    if settings.OIDC_TRUSTED_ACR:
        params["acr_values"] = " ".join(settings.OIDC_TRUSTED_ACR)
    response = _provider(request).redirect(
        request,
        process,
        next_url=next_url or None,
        auth_params=params | {"nonce": nonce},
        nonce=nonce,
        user=request.user.pk,
        begun_at=time.time(),
    )
    context = {
        "title": _("To %(provider)s") % {"provider": settings.OIDC_NAME},
        "text": _("You are being taken there to sign in."),
        "action": (response.url, _("Continue")),
    }
    page = render(request, "notice.html", context)
    page["Refresh"] = f"0; url={response.url}"
    return page


def finish_authorization(request: HttpRequest) -> HttpResponse:
    state = _state(request)
    _require_this_issuer(request)
    if "code" not in request.GET:
        raise RefusedError(Reason.CANCELED, request.GET.get("error", "")[:60])
    response = tokens.exchange(
        code=request.GET["code"], verifier=state["pkce_code_verifier"], redirect_uri=redirect_uri()
    )
    claims = tokens.claims_of(response, nonce=state["nonce"])
    return _FINISH[state["process"]](request, claims, state)


def _provider(request: HttpRequest) -> Provider:
    provider: Provider = get_adapter().get_provider(request, ID)
    return provider


def _state(request: HttpRequest) -> State:
    """The state of the sign-in, removed from the session so that it is finished only once."""
    try:
        state: State = _provider(request).unstash_redirect_state(
            request, request.GET.get("state", "")
        )
    except PermissionDenied as error:
        raise RefusedError(Reason.EXPIRED, "unknown state") from error
    if state["process"] != SIGN_IN and state["user"] != request.user.pk:
        raise RefusedError(Reason.EXPIRED, "started by another user")
    return state


def _require_this_issuer(request: HttpRequest) -> None:
    """Refuses a response of another issuer, which must not reach this one's token endpoint (RFC
    9207).
    """
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        raise RefusedError(Reason.INVALID, "response of another issuer")


def _sign_in(request: HttpRequest, claims: Claims, state: State) -> HttpResponse:
    try:
        groups = tokens.groups(claims)
        user = identities.find_or_create(claims, request)
    except RefusedError as error:
        record_authentication_event(
            "login.failed", user=None, request=request, subject=f"oidc {error.reason.value}"
        )
        raise
    if user.is_active:
        identities.apply_grants(user, groups, request)
    if request.user.is_authenticated:
        get_account_adapter().logout(request)
    if tokens.has_trusted_factor(claims):
        record_authentication(request, user, "mfa", type=sessions.PROVIDER_FACTOR)
    login = _provider(request).sociallogin_from_response(request, claims)
    login.state = state
    response: HttpResponse = complete_social_login(request, login)
    return response


def _connect(request: HttpRequest, claims: Claims, _state: State) -> HttpResponse:
    identities.link(_user(request), claims, request)
    text = _("From now on you can sign in with %(provider)s.")
    messages.success(request, text % {"provider": settings.OIDC_NAME})
    return redirect("sso-identity")


def _reauthenticate(request: HttpRequest, claims: Claims, state: State) -> HttpResponse:
    """Records a reauthentication, equal to a typed password: the provider has just checked."""
    user = _user(request)
    if identities.find(claims) != user:
        raise RefusedError(Reason.OTHER_IDENTITY)
    if tokens.authenticated_at(claims) < state["begun_at"] - CLOCK_SKEW:
        raise RefusedError(Reason.NOT_FRESH)
    identities.apply_grants(user, tokens.groups(claims), request)
    proof = {"reauthenticated": True, "provider": settings.OIDC_ISSUER, "uid": claims["sub"]}
    if tokens.has_trusted_factor(claims):
        record_authentication(request, user, "mfa", type=sessions.PROVIDER_FACTOR)
    record_authentication(request, user, sessions.PROVIDER_METHOD, **proof)
    sessions.limit_age(request)
    return HttpResponseRedirect(state.get("next") or reverse("overview"))


_FINISH = {SIGN_IN: _sign_in, CONNECT: _connect, REAUTHENTICATE: _reauthenticate}


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):  # signed out since the page was opened
        raise RefusedError(Reason.EXPIRED, "signed out")
    return request.user


@require_POST
@provider_page
def start(request: HttpRequest) -> HttpResponse:
    return begin_authorization(request, SIGN_IN, get_next_redirect_url(request) or "")


@require_GET
@provider_page
def callback(request: HttpRequest) -> HttpResponse:
    if limited := ratelimit.consume_or_429(request, action="sso", limit_get=True):
        return limited
    return finish_authorization(request)


@require_GET
@login_required
@provider_page
def required(request: HttpRequest) -> HttpResponse:
    """Explains that a page requires a session opened through the provider."""
    next_url = get_next_redirect_url(request) or ""
    return render(request, "account/sso_required.html", {"next": next_url})


@login_required
@provider_page
def identity(request: HttpRequest) -> HttpResponse:
    return render(
        request, "account/sso_identity.html", {"identity": identity_of(signed_in_user(request))}
    )


@login_required
@provider_page
def connect(request: HttpRequest) -> HttpResponse:
    """Connects an identity of the provider to the signed-in user.

    Requires a fresh reauthentication (`accounts.security.middleware`).
    """
    if identity_of(signed_in_user(request)):
        return redirect("sso-identity")
    if request.method == "POST":
        return begin_authorization(request, CONNECT)
    names = {"provider": settings.OIDC_NAME}
    text = _(
        "Anyone who signs in as you at %(provider)s will be able to open this account. Your other "
        "sessions end."
    )
    return confirm_page(
        request,
        _("Connect %(provider)s") % names,
        text % names,
        verb=_("Go to %(provider)s") % names,
        back=PageLink(reverse("sso-identity"), _("Single sign-on")),
        is_dangerous=False,
    )


@login_required
@provider_page
def disconnect(request: HttpRequest) -> HttpResponse:
    """Disconnects the user's identity.

    Requires a fresh reauthentication, and another way to sign in.
    """
    user = signed_in_user(request)
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
    return confirm_page(
        request,
        _("Disconnect %(provider)s") % {"provider": settings.OIDC_NAME},
        _(
            "Only your password will open this account. You lose the roles that your groups there "
            "give you, and your other sessions end."
        ),
        verb=_("Disconnect"),
        back=PageLink(reverse("sso-identity"), _("Single sign-on")),
    )


@login_required
@provider_page
def reauthenticate(request: HttpRequest) -> HttpResponse:
    if not identity_of(signed_in_user(request)):
        return redirect("sso-identity")
    next_url = get_next_redirect_url(request) or ""
    if request.method == "POST":
        # With max_age the ID token has `auth_time`, when the person last authenticated.
        age = str(settings.ACCOUNT_REAUTHENTICATION_TIMEOUT)
        return begin_authorization(request, REAUTHENTICATE, next_url, prompt="login", max_age=age)
    return render(request, "account/sso_reauthenticate.html", {"next": next_url})
