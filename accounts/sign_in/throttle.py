"""How often a password may be tried: few times from one network, more often from all together.

Counted are the network and the account together, so that a stranger's wrong passwords do not keep
the owner out. Guesses that are spread over many networks meet a bound on the account, which a
browser that has signed in to it before does not (OWASP's "device cookies"): it has a bound of its
own. Whoever is left out of both sets a new password by a letter, which starts all counts anew.
"""

import secrets

from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from accounts.api.atomic_limits import hashed
from accounts.client_ip import client_ip, client_network

APP = "allauth.account"
COOKIE = "device"
SALT = "accounts.device"
LIFETIME = 365 * 24 * 3600  # seconds a browser is known without signing in again


def key_of(request: HttpRequest, email: str) -> str:
    """What "login_failed" is counted by. Not the Host header, which the client chooses."""
    ip = client_ip(request.META)
    return f"{email.strip().lower()}|{client_network(ip) or ip}"


def consume(request: HttpRequest, email: str) -> RateLimitUsage | None:
    """One more try against the account, whatever network it comes from; None: too many."""
    email = email.strip().lower()
    device = _device_of(request, email)
    action = "login_device" if device else "login_account"
    return ratelimit.consume(request, app=APP, action=action, key=device or email)


def clear(request: HttpRequest, email: str) -> None:
    """For an owner who has proved to be one by a letter."""
    ratelimit.clear(request, app=APP, action="login_account", key=email.strip().lower())


def remember_device(response: HttpResponse, email: str) -> None:
    """Signed in here: other people's wrong passwords no longer concern this browser."""
    mark = signing.dumps([hashed(email.strip().lower()), secrets.token_hex(8)], salt=SALT)
    response.set_cookie(
        COOKIE,
        mark,
        max_age=LIFETIME,
        path=reverse("account_login").removesuffix("login/"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device_of(request: HttpRequest, email: str) -> str:
    try:
        owner, mark = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LIFETIME)
    except (signing.BadSignature, ValueError):
        return ""
    return str(mark) if owner == hashed(email) else ""
