"""Requires reauthentication for allauth's views and limits attempts at it."""

from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from allauth.core import ratelimit
from allauth.core.exceptions import ReauthenticationRequired
from django.contrib import messages
from django.contrib.auth import get_user, logout
from django.contrib.auth.views import redirect_to_login
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from django.urls import Resolver404, resolve
from django.utils.translation import gettext as _

from accounts import audit
from accounts.models import User
from accounts.security import notifications, reauthentication, sessions
from accounts.security.change_limit import exceeds_change_limit

ACCOUNT_PREFIX = "/account/"
REAUTHENTICATION_VIEWS = {
    "account_reauthenticate",
    "mfa_reauthenticate",
    "mfa_reauthenticate_webauthn",
}
PASSKEY_LOGIN_VIEW = "mfa_login_webauthn"
RECOVERY_CODE_VIEWS = {"mfa_view_recovery_codes", "mfa_download_recovery_codes"}
GUARDED_VIEWS = {
    "account_change_password",
    "account_set_password",
    "mfa_activate_totp",
    "mfa_deactivate_totp",
    "mfa_add_webauthn",
    "mfa_edit_webauthn",
    "mfa_remove_webauthn",
    "mfa_generate_recovery_codes",
    *RECOVERY_CODE_VIEWS,
    "sso-disconnect",
}
GUARDED_START = "sso-connect"  # changes nothing itself: it leads to the identity provider
GUARDED_POSTS = {"account_email"}  # the list of addresses may be read without reauthentication
RESET_VIEW = "account_reset_password_from_key"


class AccountSecurityMiddleware:
    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if not _changes_account(request):
            return self._respond(request)
        # The change, its e-mail, its audit event and ended sessions commit together.
        with transaction.atomic():
            _lock_account(request)
            response = self._respond(request)
            if response.status_code >= HTTPStatus.INTERNAL_SERVER_ERROR:
                transaction.set_rollback(True)
        return response

    def _respond(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        sessions.write_browser_cookie(request, response)
        user = request.user
        name = _view_name(request)
        if not isinstance(user, User):
            if name == PASSKEY_LOGIN_VIEW and _reached_form(request, response):
                audit.record_authentication_event(
                    "login.failed", user=None, request=request, subject="passkey"
                )
            return response
        sessions.record_activity(request, user)
        is_proof = name in REAUTHENTICATION_VIEWS and _reached_form(request, response)
        if is_proof and not reauthentication.is_fresh(request):
            audit.record_authentication_event("reauthentication.failed", user=user, request=request)
        if name in RECOVERY_CODE_VIEWS and response.status_code == HTTPStatus.OK:
            audit.record_authentication_event("recovery_codes.viewed", user=user, request=request)
            notifications.post_change("recovery_codes.viewed", user=user, request=request)
        return response

    def process_view(
        self, request: HttpRequest, view: object, args: object, kwargs: object
    ) -> HttpResponse | None:
        # API requests have none: `config.middleware.SkipPageMiddleware`.
        user = getattr(request, "user", None)
        name = _view_name(request)
        if name == PASSKEY_LOGIN_VIEW and request.method != "POST":
            # Each challenge creates a session, kept for hours.
            limited: HttpResponse | None = ratelimit.consume_or_429(
                request, action="passkey", limit_get=True
            )
            return limited
        if not isinstance(user, User):
            return None
        if (
            name in REAUTHENTICATION_VIEWS
            and request.method == "POST"
            and not sessions.spend_attempt(request, user)
        ):
            return _end_session(request, user)
        is_guarded = name in GUARDED_VIEWS | {GUARDED_START} or (
            name in GUARDED_POSTS and request.method == "POST"
        )
        if is_guarded and not reauthentication.is_fresh(request):
            return reauthentication.challenge(request)
        is_recorded = name in RECOVERY_CODE_VIEWS or (is_guarded and request.method == "POST")
        return (
            ratelimit.respond_429(request) if is_recorded and exceeds_change_limit(user) else None
        )

    def process_exception(self, request: HttpRequest, error: Exception) -> HttpResponse | None:
        """Runs before allauth's middleware, which would store the POST and execute it later."""
        if not isinstance(error, ReauthenticationRequired):
            return None
        if not request.user.is_authenticated:
            return redirect_to_login(request.get_full_path())
        return reauthentication.challenge(request, getattr(error, "draft", None))


def _reached_form(request: HttpRequest, response: HttpResponse) -> bool:
    """Whether a form validated the POST. A missing CSRF token (403) or the rate limit (429) stops
    it earlier, and must not fill the audit log, which keeps rows forever.
    """
    return request.method == "POST" and response.status_code < HTTPStatus.BAD_REQUEST


def _changes_account(request: HttpRequest) -> bool:
    if request.method != "POST" or not request.path_info.startswith(ACCOUNT_PREFIX):
        return False
    try:
        return resolve(request.path_info).url_name in GUARDED_VIEWS | GUARDED_POSTS | {RESET_VIEW}
    except Resolver404:
        return False


def _lock_account(request: HttpRequest) -> None:
    """Serialises changes to one account, and reads the user again.

    Otherwise two concurrent removals of factors would each see the other factor and keep the
    recovery codes.
    """
    if not isinstance(request.user, User):
        return
    User.objects.select_for_update(no_key=True).filter(pk=request.user.pk).first()
    request.user = get_user(request)


def _end_session(request: HttpRequest, user: User) -> HttpResponse:
    audit.record_authentication_event(
        "session.ended", user=user, request=request, subject="reauthentication"
    )
    notifications.post_change("session.locked", user=user, request=request)
    sessions.forget(request.session.session_key)
    logout(request)
    messages.error(request, _("Too many wrong attempts: this session is over. Sign in again."))
    return redirect("account_login")


def _view_name(request: HttpRequest) -> str:
    match: Any = request.resolver_match
    return (match.url_name or "") if match else ""
