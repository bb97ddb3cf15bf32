"""The service's routes, and one that shows every error page."""

from django.core.exceptions import BadRequest, PermissionDenied
from django.db import OperationalError
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed
from django.shortcuts import render
from django.urls import path
from django.views.csrf import csrf_failure

import config.urls

BROKEN: dict[str, Exception] = {
    "400": BadRequest(),
    "403": PermissionDenied(),
    "404": Http404(),
    "500": ZeroDivisionError(),
    "503": OperationalError(),
}


def broken(request: HttpRequest, name: str) -> HttpResponse:
    if name in BROKEN:
        raise BROKEN[name]
    if name == "csrf":
        return csrf_failure(request)
    if name == "405":
        return HttpResponseNotAllowed(["POST"])
    return render(request, f"{name}.html", status=int(name))


ERRORS = [*BROKEN, "405", "429", "csrf"]
urlpatterns = [path("cabinet/broken/<str:name>", broken), *config.urls.urlpatterns]
