"""Views that a signed link opens without signing in."""

from collections.abc import Callable
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

from billing.signed_links import LIFETIME, LinkExpiredError, SignedLinks

P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, UUID, str, P], HttpResponse]


def opened_by(links: SignedLinks) -> Callable[[View[P]], Callable[..., HttpResponse]]:
    """Gives the view the id in front of its `token`."""

    def decorate(view: View[P]) -> Callable[..., HttpResponse]:
        @require_GET
        @wraps(view)
        def opened(
            request: HttpRequest, token: str, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponse:
            try:
                pk = links.read(token)
            except LinkExpiredError:
                context = {"days": LIFETIME.days}
                return render(request, "billing/link_expired.html", context, status=HTTPStatus.GONE)
            if pk is None:
                raise Http404
            return view(request, pk, token, *args, **kwargs)

        return opened

    return decorate
