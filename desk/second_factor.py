"""Nobody works at the desk on a password alone."""

from urllib.parse import urlencode

from allauth.account.authentication import get_authentication_records
from allauth.mfa.models import Authenticator
from allauth.mfa.utils import is_mfa_enabled
from django.conf import settings
from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.translation import gettext as _

from accounts.models import User

FACTORS = [Authenticator.Type.TOTP, Authenticator.Type.WEBAUTHN]


def is_proved(request: HttpRequest, user: User) -> bool:
    """Whether this very session was opened, or confirmed since, with a second factor."""
    if not settings.OPERATOR_MFA:
        return True
    methods = {record.get("method") for record in get_authentication_records(request, user)}
    return "mfa" in methods and bool(is_mfa_enabled(user, FACTORS))


def lead(request: HttpRequest, user: User, then: str) -> HttpResponse:
    """To where the second factor is set up, or where it is asked for."""
    if not is_mfa_enabled(user, FACTORS):
        messages.warning(request, _("The admin opens with two-factor authentication: set it up."))
        return HttpResponseRedirect(reverse("mfa_activate_totp"))
    return HttpResponseRedirect(f"{reverse('mfa_reauthenticate')}?{urlencode({'next': then})}")
