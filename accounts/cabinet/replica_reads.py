"""Pages that may be read from the replica, but never without what their reader just changed."""

import time
from collections.abc import Callable
from functools import wraps
from typing import Concatenate, ParamSpec, TypeVar

from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.http.response import HttpResponseBase

from accounts.people.roles import SAFE_METHODS, CabinetRequest
from config.storage import replica

P = ParamSpec("P")
T = TypeVar("T")
# When this browser changed something last. Whoever forges it only sees older pages of their own.
COOKIE = "changed_at"
COOKIE_AGE = 600  # seconds: far beyond the lag at which a replica is no longer read


def read(request: HttpRequest, work: Callable[[], T]) -> T:
    """The result of a read, which may come from the replica."""
    return replica.read(work, must_see=_changed_at(request))


def may_read_replica(
    view: Callable[Concatenate[CabinetRequest, P], HttpResponseBase],
) -> Callable[Concatenate[CabinetRequest, P], HttpResponseBase]:
    """For a view that only reads; the rows of a file that it streams, too."""

    @wraps(view)
    def reading(request: CabinetRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.method not in SAFE_METHODS:
            return view(request, *args, **kwargs)
        response = read(request, lambda: view(request, *args, **kwargs))
        if isinstance(response, StreamingHttpResponse):
            lines = iter(response.streaming_content)  # type: ignore[arg-type]
            response.streaming_content = replica.stream(lines, must_see=_changed_at(request))
        return response

    return reading


class NoteChanges:
    """Middleware: notes in a cookie when this browser changed something."""

    def __init__(self, get_response: Callable[[HttpRequest], HttpResponse]) -> None:
        self.get_response = get_response

    def __call__(self, request: HttpRequest) -> HttpResponse:
        response = self.get_response(request)
        if request.method not in SAFE_METHODS and replica.is_configured():
            response.set_cookie(
                COOKIE,
                f"{time.time():.3f}",  # after the commit
                max_age=COOKIE_AGE,
                secure=settings.SESSION_COOKIE_SECURE,
                httponly=True,
                samesite="Lax",
            )
        return response


def _changed_at(request: HttpRequest) -> float:
    try:
        return float(request.COOKIES.get(COOKIE, 0))
    except ValueError:
        return 0.0
