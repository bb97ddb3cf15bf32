"""The cabinet's middleware, each of which steps aside on machine paths.

Subclasses rather than a second handler, so that tests, runserver and WSGI run the same stack
and the checks of the admin and of allauth still recognise their requirements.
"""

from collections.abc import Callable
from typing import Any

import csp.middleware
import django_htmx.middleware
import django_structlog.middlewares
import whitenoise.middleware
from django.contrib.auth.middleware import AuthenticationMiddleware
from django.contrib.messages.middleware import MessageMiddleware
from django.contrib.sessions.middleware import SessionMiddleware
from django.http import HttpRequest, HttpResponse
from django.middleware.clickjacking import XFrameOptionsMiddleware
from django.middleware.common import CommonMiddleware
from django.middleware.csrf import CsrfViewMiddleware
from django.middleware.locale import LocaleMiddleware
from django.middleware.security import SecurityMiddleware
from django.utils.cache import add_never_cache_headers

MACHINE_PATHS = ("/api/", "/hooks/", "/livez", "/readyz")


class StepsAside:
    """Mixed in before a middleware class: machine paths pass it by."""

    get_response: Callable[[HttpRequest], Any]

    def __call__(self, request: HttpRequest) -> Any:
        if request.path_info.startswith(MACHINE_PATHS):
            return self.get_response(request)
        return super().__call__(request)  # type: ignore[misc]

    def process_view(self, request: HttpRequest, *args: Any) -> HttpResponse | None:
        process_view = getattr(super(), "process_view", None)
        if process_view is None or request.path_info.startswith(MACHINE_PATHS):
            return None
        response: HttpResponse | None = process_view(request, *args)
        return response


class Security(StepsAside, SecurityMiddleware):
    pass


class WhiteNoise(StepsAside, whitenoise.middleware.WhiteNoiseMiddleware):  # type: ignore[misc]
    pass


class RequestLog(StepsAside, django_structlog.middlewares.RequestMiddleware):
    pass


class ContentSecurityPolicy(StepsAside, csp.middleware.CSPMiddleware):
    pass


class Session(StepsAside, SessionMiddleware):
    pass


class Locale(StepsAside, LocaleMiddleware):
    pass


class Common(StepsAside, CommonMiddleware):
    pass


class Csrf(StepsAside, CsrfViewMiddleware):  # type: ignore[misc]
    pass


class Authentication(StepsAside, AuthenticationMiddleware):
    pass


class Messages(StepsAside, MessageMiddleware):
    pass


class Clickjacking(StepsAside, XFrameOptionsMiddleware):
    pass


class Htmx(StepsAside, django_htmx.middleware.HtmxMiddleware):
    pass


class NoStore:
    """What a signed-in person sees stays out of shared and back-button caches."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if not request.path_info.startswith(MACHINE_PATHS) and request.user.is_authenticated:
            add_never_cache_headers(response)
        return response
