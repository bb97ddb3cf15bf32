"""People who work at the desk, with or without a second factor."""

import time

from allauth.account.internal.flows.login import AUTHENTICATION_METHODS_SESSION_KEY
from allauth.mfa.totp.internal.auth import (
    TOTP,
)
from django.test import Client

from accounts.models import User
from tests.factories import UserFactory

SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def make_operator(*, has_factor: bool = True) -> User:
    user = UserFactory.create(is_staff=True, is_superuser=True)
    if has_factor:
        TOTP.activate(user, SECRET)
    return user


def prove(client: Client, *methods: str, age: float = 0.0) -> None:
    """As if the session had gone through these steps of signing in, so many seconds ago."""
    session = client.session
    session[AUTHENTICATION_METHODS_SESSION_KEY] = [
        {"method": method, "at": time.time() - age, "reauthenticated": True} for method in methods
    ]
    session.save()
