"""Sessions that have just re-authenticated, or have not."""

import time

from allauth.account.internal.flows import login
from django.test import Client

from accounts.models import User


def mark_reauthenticated(client: Client, user: User, *methods: str, age: float = 0.0) -> None:
    """As if re-authenticated by these methods, `age` seconds ago; by the password if none."""
    session = client.session
    session[login.AUTHENTICATION_METHODS_SESSION_KEY] = [
        {"method": method, "at": time.time() - age, "reauthenticated": True}
        for method in methods or ("password",)
    ]
    session[login._AUTHENTICATION_METHODS_USER_SESSION_KEY] = str(user.pk)
    session.save()
