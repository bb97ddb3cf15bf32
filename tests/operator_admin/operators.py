"""Makes operators and signs them in."""

import time

from allauth.mfa.totp.internal import auth
from django.test import Client

from accounts.models import User
from tests.factories import UserFactory
from tests.reauthentication import mark_reauthenticated

STEP = 30  # seconds for which a code is valid
SOON = 5  # seconds that typing it may take
SECRET = "JBSWY3DPEHPK3PXPJBSWY3DPEHPK3PXP"


def make_operator(*, has_factor: bool = True) -> User:
    user = UserFactory.create(is_staff=True, is_superuser=True)
    if has_factor:
        auth.TOTP.activate(user, SECRET)
    return user


def code_now(secret: str = SECRET) -> str:
    """The code on the operator's phone; the next code, if this one is about to end."""
    if (left := STEP - time.time() % STEP) < SOON:
        time.sleep(left)
    counters = list(auth.yield_hotp_counters_from_time())
    return auth.format_hotp_value(auth.hotp_value(secret, counters[len(counters) // 2]))


def sign_in(client: Client, user: User, *methods: str, age: float = 0.0) -> None:
    """A session that went through these sign-in steps, `age` seconds ago."""
    client.force_login(user)
    if methods:
        mark_reauthenticated(client, user, *methods, age=age)
