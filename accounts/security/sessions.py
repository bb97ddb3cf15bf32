"""The sessions of a user: recording and ending them.

allauth.usersessions was rejected: with activity tracking it writes in a transaction on every
request, it fails for clients without an IP address, and it ends no session when a factor changes
or a password is reset.
"""

import time

from django.contrib.auth import update_session_auth_hash
from django.contrib.sessions.models import Session
from django.db import transaction
from django.db.models import F
from django.http import HttpRequest
from django.utils import timezone

from accounts.client_ip import address_of
from accounts.models import User, UserSession
from accounts.security import known_browsers

SEEN_INTERVAL = 60.0  # seconds between writes for one session by one process
MAX_REMEMBERED = 10_000
MAX_ATTEMPTS = 5  # failed reauthentications per session

_recorded_at: dict[str, float] = {}


def record_activity(request: HttpRequest, user: User) -> None:
    """Store the session's address, device and time of use, at most once a minute."""
    key, now = request.session.session_key, time.monotonic()
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
    """After reauthentication: rotate the session key, which invalidates stolen copies, and reset
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
    """End all other sessions of the user; returns their number."""
    _invalidate(user)
    old = request.session.session_key
    update_session_auth_hash(request, user)
    _move_row(request, old)
    known_browsers.remember(request, user)  # this browser stays a known one
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
    """Delete the row of a session that signed out."""
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
