"""Receivers of allauth's signals: audit events, notifications and ended sessions."""

from functools import partial
from typing import Any

from allauth.account import signals as account
from allauth.account.internal.flows.login import record_authentication
from allauth.account.models import EmailAddress
from allauth.mfa import signals as mfa
from allauth.mfa.models import Authenticator
from django.contrib.auth.signals import user_login_failed
from django.db.models.functions import Lower
from django.http import HttpRequest
from django.utils import timezone

from accounts.audit import record_authentication_event
from accounts.models import User
from accounts.security import notifications, sessions


def connect() -> None:
    user_login_failed.connect(on_login_failed)
    account.user_logged_in.connect(on_login)
    account.authentication_step_completed.connect(on_step_completed)
    for action in ("changed", "set", "reset"):
        signal = getattr(account, f"password_{action}")
        signal.connect(partial(on_password_changed, f"password.{action}"), weak=False)
    account.email_added.connect(on_email_added)
    account.email_confirmed.connect(on_email_confirmed)
    account.email_changed.connect(on_email_changed)
    account.email_removed.connect(on_email_removed)
    mfa.authenticator_added.connect(on_factor_added)
    mfa.authenticator_removed.connect(on_factor_removed)
    mfa.authenticator_reset.connect(on_codes_generated)
    mfa.authentication_failed.connect(on_factor_failed)


def on_login(request: HttpRequest, user: User, **_rest: Any) -> None:
    is_from_provider = sessions.is_from_provider(request, user)
    if is_from_provider:
        sessions.limit_age(request)
    action = "login.sso" if is_from_provider else "login.succeeded"
    record_authentication_event(action, user=user, request=request)
    if sessions.needs_sign_in_notice(request, user):
        notifications.post_change("device.new", user=user, request=request)
    sessions.remember_browser(request, user)


def on_login_failed(
    credentials: dict[str, Any], request: HttpRequest | None = None, **_rest: Any
) -> None:
    """Records a failed sign-in, with the same work for an unknown address against timing attacks.

    The typed text is not stored: people type passwords into the wrong field.
    """
    email = str(credentials.get("email", ""))
    user = User.objects.alias(lower=Lower("email")).filter(lower=email.lower()).first()
    record_authentication_event("login.failed", user=user, request=request)


def on_factor_failed(
    request: HttpRequest, user: User, reauthentication: bool = False, **_rest: Any
) -> None:
    if reauthentication:  # recorded by the middleware
        return
    record_authentication_event("login.failed", user=user, request=request, subject="2fa")
    if sessions.needs_sign_in_notice(request, user):
        # Only a person with the password gets here; once a day, or they could flood the mailbox.
        key = f"factor-failed:{user.pk}:{timezone.now():%Y-%m-%d}"
        notifications.post_change("factor.failed", user=user, request=request, key=key)


def on_step_completed(
    request: HttpRequest, user: User, method: str, reauthenticated: bool = False, **_rest: Any
) -> None:
    if reauthenticated:
        sessions.renew(request)
        record_authentication_event(
            "reauthentication.passed", user=user, request=request, subject=method
        )


def on_password_changed(action: str, request: HttpRequest, user: User, **_rest: Any) -> None:
    sessions.end_all(user)
    record_authentication_event(action, user=user, request=request)


def on_email_added(
    request: HttpRequest, user: User, email_address: EmailAddress, **_rest: Any
) -> None:
    address = email_address.email
    record_authentication_event("address.added", user=user, request=request, subject=address)
    notifications.post_change("address.added", user=user, request=request, address=address)


def on_email_confirmed(request: HttpRequest, email_address: EmailAddress, **_rest: Any) -> None:
    user = email_address.user
    address = email_address.email
    record_authentication_event("address.confirmed", user=user, request=request, subject=address)
    if not email_address.primary:  # at sign-up the first address is the primary one
        notifications.post_change("address.confirmed", user=user, request=request, address=address)


def on_email_changed(
    request: HttpRequest,
    user: User,
    from_email_address: EmailAddress | None,
    to_email_address: EmailAddress,
    **_rest: Any,
) -> None:
    """Notifies the new primary address; allauth itself notifies the old one."""
    old = from_email_address.email if from_email_address else ""
    address = to_email_address.email
    record_authentication_event(
        "address.primary", user=user, request=request, subject=f"{old} → {address}"
    )
    notifications.post_change(
        "address.primary", user=user, request=request, to=address, address=address, old=old
    )


def on_email_removed(
    request: HttpRequest, user: User, email_address: EmailAddress, **_rest: Any
) -> None:
    """Notifies the removed address; allauth itself notifies the primary one."""
    address = email_address.email
    record_authentication_event("address.removed", user=user, request=request, subject=address)
    if email_address.verified:
        notifications.post_change(
            "address.removed", user=user, request=request, to=address, address=address
        )


def on_factor_added(
    request: HttpRequest, user: User, authenticator: Authenticator, **_rest: Any
) -> None:
    record_authentication_event(
        "factor.added", user=user, request=request, subject=authenticator.type
    )
    if authenticator.type == Authenticator.Type.RECOVERY_CODES:
        return  # generated with the first factor
    sessions.end_others(request, user)
    # Adding a factor counts as reauthentication: the recovery codes are shown next.
    record_authentication(
        request, user, "mfa", type=authenticator.type, id=authenticator.pk, reauthenticated=True
    )


def on_factor_removed(
    request: HttpRequest, user: User, authenticator: Authenticator, **_rest: Any
) -> None:
    record_authentication_event(
        "factor.removed", user=user, request=request, subject=authenticator.type
    )
    sessions.end_others(request, user)


def on_codes_generated(request: HttpRequest, user: User, **_rest: Any) -> None:
    record_authentication_event("recovery_codes.generated", user=user, request=request)
    sessions.end_others(request, user)
