"""The way to the provider and back: what begins there is finished here, once, in one session."""

import secrets
import time
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

import structlog
from allauth.account.adapter import get_adapter as get_account_adapter
from allauth.account.internal.flows.login import record_authentication
from allauth.socialaccount.adapter import get_adapter
from allauth.socialaccount.helpers import complete_social_login
from django.conf import settings
from django.contrib import messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.audit.events import record_authentication_event
from accounts.models import User
from accounts.oidc import claims as of
from accounts.oidc import grants, identities, tokens
from accounts.oidc.claims import Claims
from accounts.oidc.provider import ID, Provider, redirect_uri
from accounts.oidc.refusals import DEFAULT_STATUS, STATUSES, TEXTS, Reason, RefusedError
from accounts.security import provider_sessions

log = structlog.get_logger(__name__)
P = ParamSpec("P")
State = dict[str, Any]
SIGN_IN, CONNECT, REAUTHENTICATE = "login", "connect", "reauthenticate"
CLOCK_SKEW = tokens.LEEWAY


def view(
    function: Callable[Concatenate[HttpRequest, P], HttpResponse],
) -> Callable[Concatenate[HttpRequest, P], HttpResponse]:
    """There is no such page without a provider; a refusal is a page of its own."""

    @wraps(function)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponse:
        if not provider_sessions.is_enabled():
            raise Http404
        try:
            return function(request, *args, **kwargs)
        except RefusedError as refused:
            return refuse(request, refused)

    return wrapped


def refuse(request: HttpRequest, refused: RefusedError) -> HttpResponse:
    log.warning("oidc_refused", reason=refused.reason.value, detail=refused.detail)
    names = {"provider": settings.OIDC_NAME}
    title, text = (str(one) % names for one in TEXTS[refused.reason])
    context = {"title": title, "text": text, "reason": refused.reason.value}
    status = STATUSES.get(refused.reason, DEFAULT_STATUS)
    return render(request, "account/sso_refused.html", context, status=status)


def leave(request: HttpRequest, process: str, then: str = "", **params: str) -> HttpResponse:
    """To the provider. By a page: Chromium follows no redirect of a form to another site under
    `form-action 'self'`, whichever sites the provider itself leads through.
    """
    nonce = secrets.token_urlsafe(32)
    if settings.OIDC_TRUSTED_ACR:
        params["acr_values"] = " ".join(settings.OIDC_TRUSTED_ACR)
    answer = _provider(request).redirect(
        request,
        process,
        next_url=then or None,
        auth_params=params | {"nonce": nonce},
        nonce=nonce,
        user=request.user.pk,
        begun_at=time.time(),
    )
    page = render(request, "account/sso_leave.html", {"url": answer.url})
    page["Refresh"] = f"0; url={answer.url}"
    return page


def come_back(request: HttpRequest) -> HttpResponse:
    state = _state(request)
    _require_this_issuer(request)
    if "code" not in request.GET:
        raise RefusedError(Reason.CANCELED, request.GET.get("error", "")[:60])
    answer = tokens.exchange(
        code=request.GET["code"],
        verifier=state["pkce_code_verifier"],
        redirect_uri=redirect_uri(),
    )
    claims = tokens.claims_of(answer, nonce=state["nonce"])
    return _FINISH[state["process"]](request, claims, state)


def _provider(request: HttpRequest) -> Provider:
    found: Provider = get_adapter().get_provider(request, ID)
    return found


def _state(request: HttpRequest) -> State:
    """What this session began, taken out of it: it can be finished but once."""
    try:
        state: State = _provider(request).unstash_redirect_state(
            request, request.GET.get("state", "")
        )
    except PermissionDenied as error:
        raise RefusedError(Reason.EXPIRED, "unknown state") from error
    if state["process"] != SIGN_IN and state["user"] != request.user.pk:
        raise RefusedError(Reason.EXPIRED, "begun by another user")
    return state


def _require_this_issuer(request: HttpRequest) -> None:
    """RFC 9207: the answer of another provider must not be taken to this one's token endpoint."""
    if request.GET.get("iss", settings.OIDC_ISSUER) != settings.OIDC_ISSUER:
        raise RefusedError(Reason.INVALID, "answer of another issuer")


def _sign_in(request: HttpRequest, claims: Claims, state: State) -> HttpResponse:
    try:
        groups = of.groups(claims)
        user = identities.find_or_create(claims, request)
    except RefusedError as refused:
        record_authentication_event(
            "login.failed", user=None, request=request, subject=f"oidc {refused.reason.value}"
        )
        raise
    if user.is_active:
        grants.apply(user, groups, request)
    if request.user.is_authenticated:
        get_account_adapter().logout(request)
    if of.has_trusted_factor(claims):
        record_authentication(request, user, "mfa", type=provider_sessions.FACTOR)
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
    """A proof like a password typed anew: the same person, asked by the provider since it began."""
    user = _user(request)
    if identities.find(claims) != user:
        raise RefusedError(Reason.OTHER_IDENTITY)
    if of.authenticated_at(claims) < state["begun_at"] - CLOCK_SKEW:
        raise RefusedError(Reason.NOT_FRESH)
    grants.apply(user, of.groups(claims), request)
    proof = {"reauthenticated": True, "provider": settings.OIDC_ISSUER, "uid": claims["sub"]}
    if of.has_trusted_factor(claims):
        record_authentication(request, user, "mfa", type=provider_sessions.FACTOR)
    record_authentication(request, user, provider_sessions.METHOD, **proof)
    provider_sessions.limit_age(request)
    return HttpResponseRedirect(state.get("next") or reverse("overview"))


_FINISH = {SIGN_IN: _sign_in, CONNECT: _connect, REAUTHENTICATE: _reauthenticate}


def _user(request: HttpRequest) -> User:
    if not isinstance(request.user, User):  # signed out meanwhile
        raise RefusedError(Reason.EXPIRED, "signed out")
    return request.user
