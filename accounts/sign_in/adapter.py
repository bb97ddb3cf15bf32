"""allauth's adapter: e-mails through the outbox, limits per client network, the user's language.

Sign-ins have a low limit per network and account together, so a stranger's wrong passwords do not
lock the owner out. Distributed guesses hit the limit per account, from which a browser that has
signed in before is exempt (OWASP's "device cookies"): it has its own limit. A user who is blocked
all the same can reset the password by e-mail, which resets all counts.
"""

import secrets
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from allauth.account.adapter import DefaultAccountAdapter
from allauth.core import context as allauth
from allauth.core.internal import ratelimit
from allauth.core.internal.ratelimit import RateLimitUsage
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib.auth.base_user import AbstractBaseUser
from django.contrib.auth.models import AnonymousUser
from django.core import signing
from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.utils.translation import get_language
from django.utils.translation import gettext_lazy as _

from accounts.audit import record_authentication_event
from accounts.models import User
from accounts.outbox import mail
from accounts.security import sessions
from accounts.security.notifications import NOTICES_OF_ALLAUTH
from accounts.security.reauthentication import has_factor
from accounts.sign_in.addresses import as_stored
from processes.server.client_ip import client_ip, client_network
from storage.atomic_limits import hashed

APP = "allauth.account"
COOKIE = "device"
SALT = "accounts.device"
LIFETIME = 365 * 24 * 3600  # seconds a device cookie is valid


def key_of(request: HttpRequest, email: str) -> str:
    """The key of the limit "login_failed", without the Host header, which the client chooses."""
    ip = client_ip(request.META)
    return f"{email.strip().lower()}|{client_network(ip) or ip}"


def consume(request: HttpRequest, email: str) -> RateLimitUsage | None:
    """Counts a sign-in attempt against the account, from any network; None if it is over the
    limit.
    """
    email = email.strip().lower()
    device = _device_of(request, email)
    action = "login_device" if device else "login_account"
    return ratelimit.consume(request, app=APP, action=action, key=device or email)


def clear(request: HttpRequest, email: str) -> None:
    """Resets the account's limit, after a password reset by e-mail."""
    ratelimit.clear(request, app=APP, action="login_account", key=email.strip().lower())


def remember_device(response: HttpResponse, email: str) -> None:
    """Sets the device cookie: wrong passwords of others no longer block this browser."""
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


PROVIDER_METHOD = {"id": "sso", "description": _("Single sign-on")}


def remember_language(response: HttpResponse, language: str) -> None:
    response.set_cookie(
        settings.LANGUAGE_COOKIE_NAME,
        language,
        max_age=365 * 24 * 3600,
        secure=settings.SESSION_COOKIE_SECURE,
        samesite="Lax",
    )


def with_public_origin(value: Any) -> Any:
    """Replaces the origin of our links with PUBLIC_URL; allauth takes it from the Host header."""
    if not (isinstance(value, str) and value.startswith(("http://", "https://"))):
        return value
    url = urlsplit(value)
    return settings.PUBLIC_URL + urlunsplit(("", "", url.path, url.query, url.fragment))


class AccountAdapter(DefaultAccountAdapter):
    error_messages: dict[str, Any] = DefaultAccountAdapter.error_messages | {
        "too_many_login_attempts": _(
            "Too many wrong passwords. Wait five minutes, or set a new password by e-mail: "
            "“Forgot the password?”"
        )
    }

    def clean_email(self, email: str) -> str:
        return as_stored(super().clean_email(email))

    def send_mail(self, template_prefix: str, email: str, context: dict[str, Any]) -> None:
        """Appends to the outbox: no page waits for or depends on the mail server."""
        public = {name: with_public_origin(value) for name, value in context.items()}
        template = template_prefix
        if notice := NOTICES_OF_ALLAUTH.get(template_prefix):
            template = "account_change"
            public |= {"notice": notice.subject, "what": str(notice.text) % public}
        mail.post(
            template=template,
            to=email,
            language=get_language() or settings.LANGUAGE_CODE,
            context={"email": email, **public},
            request=allauth.request,
        )

    def _get_login_attempts_cache_key(self, request: HttpRequest, **credentials: Any) -> str:
        return key_of(request, credentials.get("email", ""))

    def pre_authenticate(self, request: HttpRequest, **credentials: Any) -> None:
        super().pre_authenticate(request, **credentials)
        network_usage = self._login_failed_rl_usage
        account_usage = consume(request, credentials.get("email", ""))
        if network_usage is None or account_usage is None:
            self._rollback_login_failed_rl_usage()
            raise self.validation_error("too_many_login_attempts")
        network_usage.usage += account_usage.usage  # all rolled back if the password is correct

    def _delete_login_attempts_cached_email(self, request: HttpRequest, **credentials: Any) -> None:
        super()._delete_login_attempts_cached_email(request, **credentials)
        clear(request, credentials.get("email", ""))

    def is_safe_url(self, url: str) -> bool:
        try:
            return bool(super().is_safe_url(url))
        except ValueError:  # http://[::1
            return False

    def get_client_ip(self, request: HttpRequest) -> str:
        return client_ip(request.META) or "unknown"

    def logout(self, request: HttpRequest) -> None:
        if isinstance(request.user, User):
            record_authentication_event("logout", user=request.user, request=request)
            sessions.forget(request.session.session_key)
        super().logout(request)

    def get_reauthentication_methods(
        self, user: AbstractBaseUser | AnonymousUser
    ) -> list[dict[str, Any]]:
        """The methods by which the user may reauthenticate, the preferred one first.

        A user with a second factor uses it, not the password, and a passkey before recovery codes.
        A user without password and factor is sent to the identity provider.
        """
        methods: list[dict[str, Any]] = super().get_reauthentication_methods(user)
        if not isinstance(user, User):
            return methods
        if not methods and sessions.identity_of(user):
            return [PROVIDER_METHOD | {"url": reverse("sso-reauthenticate")}]
        if not has_factor(user):
            return methods
        has_app = is_mfa_enabled(user, [Authenticator.Type.TOTP])
        factors = [method for method in methods if method["id"] != "reauthenticate"]
        return factors if has_app else factors[::-1]

    def get_login_stages(self) -> list[str]:
        ours = {"allauth.mfa.stages.AuthenticateStage": "accounts.sign_in.mfa.AuthenticateStage"}
        return [ours.get(stage, stage) for stage in super().get_login_stages()]

    def reauthenticate(self, user: AbstractBaseUser, password: str) -> bool:
        # Attempts are limited per session, so that a stolen one cannot lock the owner out.
        return user.check_password(password)

    def post_login(
        self, request: HttpRequest, user: AbstractBaseUser, **kwargs: Any
    ) -> HttpResponse:
        response = super().post_login(request, user, **kwargs)
        if isinstance(user, User):
            remember_language(response, user.language)
            remember_device(response, user.email)
        return response
