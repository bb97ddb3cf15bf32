"""Links that open an invoice or a document without signing in: a bookkeeper has no account here.

They expire, for e-mails are forwarded and addresses stay in histories. Each page makes a new one.
"""

from collections.abc import Callable
from datetime import timedelta
from functools import wraps
from http import HTTPStatus
from typing import Concatenate, ParamSpec
from uuid import UUID

from django.core import signing
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.views.decorators.http import require_GET

LIFETIME = timedelta(days=30)


class LinkExpiredError(Exception):
    """We made this link, longer ago than links work."""


class SignedLinks:
    def __init__(self, salt: str) -> None:
        self._signer = signing.TimestampSigner(salt=salt)

    def token(self, pk: UUID) -> str:
        return self._signer.sign(pk.hex)

    def read(self, token: str) -> UUID | None:
        """None for what we did not sign; raises LinkExpiredError."""
        try:
            return UUID(hex=self._signer.unsign(token, max_age=LIFETIME))
        except (signing.SignatureExpired, ValueError):  # before they ended they carried no time
            raise LinkExpiredError from None
        except signing.BadSignature:
            return None


INVOICES = SignedLinks("billing.invoice")
DOCUMENTS = SignedLinks("billing.document")


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
