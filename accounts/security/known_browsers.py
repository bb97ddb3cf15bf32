"""Browsers in which an account was opened before, so that its owner hears of every other one.

A signed cookie says so, not the address: people move, and an attacker may share their network. What
it holds for an account depends on its password and on how often its sessions were ended. So whoever
knew an old password, or was thrown out, is a stranger again. Nobody can make the cookie without
having signed in, of which the owner got a letter. The cookie of `sign_in.throttle` is another: it
must go on counting when the password changes.
"""

import hmac
from datetime import timedelta

from django.conf import settings
from django.core import signing
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User

COOKIE = "known_browser"
SALT = "accounts.known_browser"
LIFETIME = timedelta(days=400)  # the most that browsers allow
MOST_ACCOUNTS = 10  # of one browser: the cookie must not grow
_AFTER_SIGN_UP = timedelta(hours=1)  # there is no other browser yet that could be the usual one
_TO_REMEMBER = "_known_browser_of"


def is_known(request: HttpRequest, user: User) -> bool:
    stamp = _accounts(request).get(str(user.pk), "")
    return hmac.compare_digest(stamp.encode(), _stamp(user).encode())


def is_worth_a_letter(request: HttpRequest, user: User) -> bool:
    return user.date_joined < timezone.now() - _AFTER_SIGN_UP and not is_known(request, user)


def remember(request: HttpRequest, user: User) -> None:
    """The response will have the cookie (`write`)."""
    setattr(request, _TO_REMEMBER, user)


def write(request: HttpRequest, response: HttpResponseBase) -> None:
    user = getattr(request, _TO_REMEMBER, None)
    if user is None:
        return
    others = {pk: stamp for pk, stamp in _accounts(request).items() if pk != str(user.pk)}
    latest = dict([*others.items()][-(MOST_ACCOUNTS - 1) :])
    response.set_cookie(
        COOKIE,
        signing.dumps(latest | {str(user.pk): _stamp(user)}, salt=SALT),
        max_age=LIFETIME,
        path=reverse("account_login").removesuffix("login/"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _accounts(request: HttpRequest) -> dict[str, str]:
    """Account → stamp; empty for a cookie that is missing, forged or too old."""
    try:
        held = signing.loads(request.COOKIES.get(COOKIE, ""), salt=SALT, max_age=LIFETIME)
    except signing.BadSignature:
        return {}
    return held if isinstance(held, dict) else {}


def _stamp(user: User) -> str:
    return salted_hmac(SALT, user.get_session_auth_hash(), algorithm="sha256").hexdigest()[:32]
