"""Sign-in limits: a low one per client network and account, a higher one per account.

The first limit counts network and account together, so a stranger's wrong passwords do not lock
the owner out. Distributed guesses hit the limit per account, from which a browser that has signed
in before is exempt (OWASP's "device cookies"): it has its own limit. A user who is blocked anyway
resets the password by mail, which resets all counts.
"""

import secrets

from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from django.conf import settings
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse

from processes.server.client_ip import client_ip, client_network
from storage.atomic_limits import hashed

APP = "allauth.account"
COOKIE = "device"
SALT = "accounts.device"
LIFETIME = 365 * 24 * 3600  # seconds a device cookie is valid


def key_of(request: HttpRequest, email: str) -> str:
    """The key of the limit "login_failed". Without the Host header, which the client chooses."""
    ip = client_ip(request.META)
    return f"{email.strip().lower()}|{client_network(ip) or ip}"


def consume(request: HttpRequest, email: str) -> RateLimitUsage | None:
    """Counts a try against the account, from any network; None when over the limit."""
    email = email.strip().lower()
    device = _device_of(request, email)
    action = "login_device" if device else "login_account"
    return ratelimit.consume(request, app=APP, action=action, key=device or email)


def clear(request: HttpRequest, email: str) -> None:
    """Resets the account's limit, after a password reset by mail."""
    ratelimit.clear(request, app=APP, action="login_account", key=email.strip().lower())


def remember_device(response: HttpResponse, email: str) -> None:
    """Sets the device cookie: others' wrong passwords no longer block this browser."""
    token = signing.dumps([hashed(email.strip().lower()), secrets.token_hex(8)], salt=SALT)
    response.set_cookie(
        COOKIE,
        token,
        max_age=LIFETIME,
        path=reverse("account_login").removesuffix("login/"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _device_of(request: HttpRequest, email: str) -> str:
    try:
        owner, token = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LIFETIME)
    except (signing.BadSignature, ValueError):
        return ""
    return str(token) if owner == hashed(email) else ""
