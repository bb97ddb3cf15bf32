"""The second factor of the admin: required on entry, and again before changes of people."""

from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext

from accounts.models import User
from accounts.security import reauthentication, sessions


def is_verified(request: HttpRequest, user: User) -> bool:
    """Whether this session signed in or reauthenticated with a second factor."""
    if not settings.OPERATOR_MFA:
        return True
    if sessions.has_provider_factor(request, user):
        return True
    methods = {record.get("method") for record in get_authentication_records(request, user)}
    return "mfa" in methods and reauthentication.has_factor(user)


def redirect_to_factor(request: HttpRequest, user: User, next_url: str) -> HttpResponse:
    """Redirects to the page that sets up the second factor, or to the one that asks for it."""
    if not reauthentication.has_factor(user):
        messages.warning(
            request, gettext("The admin opens with two-factor authentication: set it up.")
        )
        return HttpResponseRedirect(reverse("mfa_activate_totp"))
    return HttpResponseRedirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': next_url})}")


# Name prefixes of pages that change access or show one person's data. Pages that add or delete, or
# that show a person's data or set passwords, require reauthentication when opened, so that no
# input is lost; changes require it when submitted.
PEOPLE_PAGES = (
    "accounts_user_",
    "accounts_member_",
    "account_emailaddress_",
    "mfa_authenticator_",
    "socialaccount_socialaccount_",
    "auth_group_",
    "accounts_company_change",
    "persons",
)
PASSWORD_PAGE = "auth_user_password_change"  # noqa: S105 - the name of a page


def require_reauthentication(request: HttpRequest) -> None:
    """Raises unless the user has recently reauthenticated, if the page requires it."""
    match = request.resolver_match
    name = (match.url_name or "") if match else ""
    is_changing = request.method == "POST" or name.endswith(("_add", "_delete", "persons"))
    if name == PASSWORD_PAGE or (name.startswith(PEOPLE_PAGES) and is_changing):
        reauthentication.require(request)
