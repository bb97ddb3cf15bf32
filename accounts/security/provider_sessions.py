"""Sessions that the identity provider opened.

A right that a group of the provider gave counts in these alone, and they end OIDC_SESSION_HOURS
after the provider was last asked: who left the group, or the organization, cannot go on with a
password of ours. https://openid.net/specs/openid-connect-core-1_0.html
"""

from datetime import timedelta
from typing import Any

from allauth.account.authentication import get_authentication_records
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import User

METHOD = "socialaccount"  # allauth's name for it
FACTOR = "oidc"  # the type of a second factor that the provider asked for


def is_enabled() -> bool:
    return bool(settings.OIDC_ISSUER)


def identity_of(user: User) -> SocialAccount | None:
    """The user's identity at the present provider, if one is connected."""
    if not is_enabled():
        return None
    return SocialAccount.objects.filter(user=user, provider=settings.OIDC_ISSUER).first()


def is_from_provider(request: HttpRequest, user: User) -> bool:
    return any(_is_sign_in(record) for record in get_authentication_records(request, user))


def has_provider_factor(request: HttpRequest, user: User) -> bool:
    """Whether the provider asked for a second factor, which settings must trust it in."""
    records = get_authentication_records(request, user)
    return is_enabled() and any(record.get("type") == FACTOR for record in records)


def limit_age(request: HttpRequest) -> None:
    """End the session at a fixed time; Django's own age begins anew with every change."""
    age = min(settings.OIDC_SESSION_AGE, settings.SESSION_COOKIE_AGE)
    request.session.set_expiry(timezone.now() + timedelta(seconds=age))


def _is_sign_in(record: dict[str, Any]) -> bool:
    is_present_provider = record.get("provider") == settings.OIDC_ISSUER
    return is_enabled() and is_present_provider and record.get("method") == METHOD
