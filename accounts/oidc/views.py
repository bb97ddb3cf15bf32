"""Signing in through the provider: the button, the way back, and where its session is required."""

from allauth.account.utils import get_next_redirect_url
from allauth.core import ratelimit
from django.contrib.auth.decorators import login_required
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET, require_POST

from accounts.oidc import flow


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
