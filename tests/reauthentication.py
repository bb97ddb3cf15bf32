"""Sessions of signed-in users, who have just reauthenticated or have not."""

import time
from importlib import import_module
from typing import Any

from allauth.account.internal.flows import login
from django.conf import settings
from django.contrib.auth import BACKEND_SESSION_KEY, HASH_SESSION_KEY, SESSION_KEY
from django.test import Client

from accounts.models import User

_force_login = Client.force_login


def quick_force_login(client: Client, user: User, backend: str | None = None) -> None:
    """`Client.force_login` in one statement; its dozen were a good part of a page's test."""
    if settings.SESSION_COOKIE_NAME in client.cookies:
        _force_login(client, user, backend)
        return
    session: Any = import_module(settings.SESSION_ENGINE).SessionStore()
    values = {
        SESSION_KEY: str(user.pk),
        BACKEND_SESSION_KEY: backend or settings.AUTHENTICATION_BACKENDS[0],
        HASH_SESSION_KEY: user.get_session_auth_hash(),
    }
    session.update(values)
    row = session.create_model_instance(values)
    row.save(force_insert=True)
    client.cookies[settings.SESSION_COOKIE_NAME] = row.session_key


def mark_reauthenticated(client: Client, user: User, *methods: str, age: float = 0.0) -> None:
    """As if reauthenticated by these methods, `age` seconds ago; by the password if none."""
    session = client.session
    session[login.AUTHENTICATION_METHODS_SESSION_KEY] = [
        {"method": method, "at": time.time() - age, "reauthenticated": True}
        for method in methods or ("password",)
    ]
    session[login._AUTHENTICATION_METHODS_USER_SESSION_KEY] = str(user.pk)
    session.save()
