"""A site whose people sign in by a code that django-allauth makes and a hook delivers.

`allauth_site.py PORT PHONE URL SECRET` runs on django-allauth's own views and templates; PHONE is
that of its one user. Only the adapter is a site's own, as its documentation asks for:
https://docs.allauth.org/en/latest/account/phone.html
"""

import json
import sys
import tempfile
from collections.abc import Callable
from socketserver import ThreadingMixIn
from typing import Any
from urllib.request import Request, urlopen
from wsgiref.simple_server import WSGIRequestHandler, WSGIServer, make_server

import django
from django.conf import settings

PORT, PHONE, URL, SECRET = sys.argv[1:5]
APPS = ("auth", "contenttypes", "sessions", "messages")
MIDDLEWARE = (
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
    "allauth.account.middleware.AccountMiddleware",
)
settings.configure(
    DEBUG=True,  # a failure shows where
    SECRET_KEY="a key of a site that lives for one test",
    ALLOWED_HOSTS=["127.0.0.1"],
    ROOT_URLCONF="__main__",
    INSTALLED_APPS=[*(f"django.contrib.{app}" for app in APPS), "allauth", "allauth.account"],
    MIDDLEWARE=MIDDLEWARE,
    AUTHENTICATION_BACKENDS=["allauth.account.auth_backends.AuthenticationBackend"],
    DATABASES={
        "default": {
            "ENGINE": "django.db.backends.sqlite3",
            "NAME": f"{tempfile.mkdtemp()}/site.sqlite3",
        }
    },
    TEMPLATES=[
        {
            "BACKEND": "django.template.backends.django.DjangoTemplates",
            "APP_DIRS": True,
            "OPTIONS": {"context_processors": ["django.template.context_processors.request"]},
        }
    ],
    LOGIN_REDIRECT_URL="/",
    ACCOUNT_ADAPTER="__main__.Adapter",
    ACCOUNT_LOGIN_METHODS={"phone"},
    ACCOUNT_SIGNUP_FIELDS=["phone*"],
    ACCOUNT_LOGIN_BY_CODE_ENABLED=True,
    # Its default, eight letters and a dash, is no code of only digits or letters.
    ALLAUTH_USER_CODE_FORMAT={"numeric": True, "length": 6, "dashed": False},
)
django.setup()

from allauth.account.adapter import DefaultAccountAdapter  # noqa: E402 - they need the settings
from django.contrib.auth.models import User  # noqa: E402
from django.core.management import call_command  # noqa: E402
from django.core.wsgi import get_wsgi_application  # noqa: E402
from django.http import HttpRequest, HttpResponse  # noqa: E402
from django.urls import include, path  # noqa: E402


class Adapter(DefaultAccountAdapter):
    def get_phone(self, user: Any) -> tuple[str, bool]:
        return PHONE, True

    def set_phone(self, user: Any, phone: str, verified: bool) -> None:
        """Does nothing: nobody signs up or changes the phone."""

    def set_phone_verified(self, user: Any, phone: str) -> None:
        """Does nothing: the phone is always verified."""

    def get_user_by_phone(self, phone: str) -> User | None:
        return User.objects.first() if phone == PHONE else None

    def send_verification_code_sms(self, user: Any, phone: str, code: str, **_more: Any) -> None:
        body = json.dumps({"phone": phone, "code": code}).encode()
        headers = {"Authorization": f"Bearer {SECRET}", "Content-Type": "application/json"}
        urlopen(Request(URL, body, headers)).close()  # noqa: S310 - raises what is refused


def home(request: HttpRequest) -> HttpResponse:
    return HttpResponse(f"signed in: {request.user.get_username() or 'nobody'}")


urlpatterns = [path("", home), path("accounts/", include("allauth.urls"))]


class Server(ThreadingMixIn, WSGIServer):
    """A browser opens connections that it does not use yet."""

    daemon_threads = True


class QuietHandler(WSGIRequestHandler):
    def log_message(self, *_arguments: Any) -> None:
        """Drops the log lines, which nobody reads."""


def main(write: Callable[[str], object] = sys.stdout.write) -> None:
    call_command("migrate", verbosity=0)
    User.objects.create_user("person")
    site = make_server("127.0.0.1", int(PORT), get_wsgi_application(), Server, QuietHandler)
    write("listening\n")
    sys.stdout.flush()
    site.serve_forever()


if __name__ == "__main__":
    main()
