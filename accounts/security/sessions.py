"""A user's sessions, including those opened through the identity provider, and known browsers.

allauth.usersessions was rejected: with activity tracking it writes in a transaction on every
request, it fails for clients without an IP address, and it ends no session when a factor changes or
a password is reset.
"""

import hmac
import time
from datetime import timedelta
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.contrib.auth import update_session_auth_hash
from django.contrib.sessions.models import Session
from django.core import signing
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import salted_hmac

from accounts.models import User, UserSession
from processes.server.client_ip import address_of

# A signed cookie identifies a known browser, not its IP address: people move, and an attacker may
# share their network. Its stamp for an account depends on the password and on how often the
# account's sessions were ended: afterwards the browser is unknown again. Nobody gets the cookie
# without signing in, of which the owner is notified by e-mail. `sign_in.adapter` has a cookie of
# its own, which must stay valid when the password changes.
BROWSER_COOKIE = "known_browser"
BROWSER_SALT = "accounts.known_browser"
BROWSER_LIFETIME = timedelta(days=400)  # the most that browsers allow
MAX_ACCOUNTS = 10  # per browser: the cookie must not grow
_AFTER_SIGN_UP = timedelta(hours=1)  # no notice this early: there is no usual browser yet
_TO_REMEMBER = "_known_browser_of"


def is_known_browser(request: HttpRequest, user: User) -> bool:
    stamp = _accounts_of_browser(request).get(str(user.pk), "")
    return is_stamp_of(user, stamp)


def needs_sign_in_notice(request: HttpRequest, user: User) -> bool:
    return user.date_joined < timezone.now() - _AFTER_SIGN_UP and not is_known_browser(
        request, user
    )


def remember_browser(request: HttpRequest, user: User) -> None:
    """Makes the response set the cookie (`write_browser_cookie`)."""
    setattr(request, _TO_REMEMBER, user)


def write_browser_cookie(request: HttpRequest, response: HttpResponseBase) -> None:
    user = getattr(request, _TO_REMEMBER, None)
    if user is None:
        return
    cookies = {
        pk: stamp for pk, stamp in _accounts_of_browser(request).items() if pk != str(user.pk)
    }
    latest = dict([*cookies.items()][-(MAX_ACCOUNTS - 1) :])
    response.set_cookie(
        BROWSER_COOKIE,
        signing.dumps(latest | {str(user.pk): stamp_of(user)}, salt=BROWSER_SALT),
        max_age=BROWSER_LIFETIME,
        path=reverse("account_login").removesuffix("login/"),
        secure=settings.SESSION_COOKIE_SECURE,
        httponly=True,
        samesite="Lax",
    )


def _accounts_of_browser(request: HttpRequest) -> dict[str, str]:
    """Account → stamp; empty for a missing, forged or expired cookie."""
    try:
        stamps = signing.loads(
            request.COOKIES.get(BROWSER_COOKIE, ""), salt=BROWSER_SALT, max_age=BROWSER_LIFETIME
        )
    except signing.BadSignature:
        return {}
    return stamps if isinstance(stamps, dict) else {}


def stamp_of(user: User) -> str:
    """A stamp that changes with the password, and when the user's sessions are ended."""
    return salted_hmac(BROWSER_SALT, user.get_session_auth_hash(), algorithm="sha256").hexdigest()[
        :32
    ]


def is_stamp_of(user: User, stamp: str) -> bool:
    return hmac.compare_digest(stamp.encode(), stamp_of(user).encode())


# A right granted by a group of the identity provider is effective only in sessions opened through
# it. They end OIDC_SESSION_HOURS after the last authentication there: a person who left the group,
# or the organization, cannot continue with our password.
# https://openid.net/specs/openid-connect-core-1_0.html
PROVIDER_METHOD = "socialaccount"  # allauth's name for it
PROVIDER_FACTOR = "oidc"  # the type of a second factor that the provider verified


def has_provider() -> bool:
    return bool(settings.OIDC_ISSUER)


def identity_of(user: User) -> SocialAccount | None:
    """The user's identity at the current provider, if one is connected."""
    if not has_provider():
        return None
    return SocialAccount.objects.filter(user=user, provider=settings.OIDC_ISSUER).first()


def is_from_provider(request: HttpRequest, user: User) -> bool:
    return any(_is_sign_in(record) for record in get_authentication_records(request, user))


def has_provider_factor(request: HttpRequest, user: User) -> bool:
    """Whether the provider verified a second factor in a way that the settings trust."""
    records = get_authentication_records(request, user)
    return has_provider() and any(record.get("type") == PROVIDER_FACTOR for record in records)


def limit_age(request: HttpRequest) -> None:
    """Sets a fixed end of the session: Django's own age restarts with every change."""
    age = min(settings.OIDC_SESSION_AGE, settings.SESSION_COOKIE_AGE)
    request.session.set_expiry(timezone.now() + timedelta(seconds=age))


def _is_sign_in(record: dict[str, Any]) -> bool:
    is_present_provider = record.get("provider") == settings.OIDC_ISSUER
    return has_provider() and is_present_provider and record.get("method") == PROVIDER_METHOD


SEEN_INTERVAL = 60.0  # seconds between writes for one session by one process
MAX_REMEMBERED = 10_000
MAX_ATTEMPTS = 5  # failed reauthentications per session

_recorded_at: dict[str, float] = {}


def record_activity(request: HttpRequest, user: User) -> None:
    """Stores the session's address, device and time of use, at most once a minute."""
    key = request.session.session_key
    now = time.monotonic()
    if key is None or now - _recorded_at.get(key, -SEEN_INTERVAL) < SEEN_INTERVAL:
        return
    if len(_recorded_at) >= MAX_REMEMBERED:
        _recorded_at.clear()
    _recorded_at[key] = now
    _upsert(request, user, key)


def _upsert(request: HttpRequest, user: User, key: str) -> None:
    row = UserSession(
        session_key=key,
        user=user,
        ip=address_of(request),
        user_agent=request.META.get("HTTP_USER_AGENT", "")[:300],
        last_seen_at=timezone.now(),
    )
    UserSession.objects.bulk_create(
        [row],
        update_conflicts=True,
        unique_fields=["session_key"],
        update_fields=["ip", "user_agent", "last_seen_at"],
    )


def spend_attempt(request: HttpRequest, user: User) -> bool:
    """Whether this session may try to reauthenticate again. The attempt is counted before it is
    checked, so parallel guesses cannot share one.
    """
    key = request.session.session_key or ""
    _upsert(request, user, key)
    rows = UserSession.objects.filter(session_key=key, failed_attempts__lt=MAX_ATTEMPTS)
    return bool(rows.update(failed_attempts=F("failed_attempts") + 1))


def renew(request: HttpRequest) -> None:
    """Rotates the session key after reauthentication, which invalidates stolen copies, and resets
    the failed attempts. Nothing else resets them.
    """
    old = request.session.session_key
    request.session.cycle_key()
    _move_row(request, old, failed_attempts=0)


def _move_row(request: HttpRequest, old: str | None, **changes: int) -> None:
    key = request.session.session_key
    UserSession.objects.filter(session_key=old).update(session_key=key, **changes)


@transaction.atomic
def end_others(request: HttpRequest, user: User) -> int:
    """Ends all other sessions of the user; returns their number."""
    _invalidate(user)
    old = request.session.session_key
    update_session_auth_hash(request, user)
    _move_row(request, old)
    remember_browser(request, user)  # this browser stays a known one
    return _delete(user, but=request.session.session_key)


@transaction.atomic
def end_all(user: User) -> int:
    _invalidate(user)
    return _delete(user)


@transaction.atomic
def end(session: UserSession) -> None:
    Session.objects.filter(session_key=session.session_key).delete()
    session.delete()


def forget(key: str | None) -> None:
    """Deletes the row of a session that signed out."""
    UserSession.objects.filter(session_key=key).delete()


def _invalidate(user: User) -> None:
    # Every request checks the generation, so sessions being opened right now, or never recorded,
    # end as well.
    User.objects.filter(pk=user.pk).update(session_generation=F("session_generation") + 1)
    user.refresh_from_db(fields=["session_generation"])


def _delete(user: User, *, but: str | None = None) -> int:
    rows = UserSession.objects.filter(user=user).exclude(session_key=but or "")
    Session.objects.filter(session_key__in=rows.values("session_key")).delete()
    return rows.delete()[0]
