"""Links that open an invoice or a document without signing in, for bookkeepers without an account.

They expire, because e-mails are forwarded and histories keep addresses. Each page makes a new link.
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
from django.views.decorators.http import require_safe

LIFETIME = timedelta(days=30)


class SignedLinks:
    def __init__(self, salt: str) -> None:
        self._signer = signing.TimestampSigner(salt=salt)

    def token(self, pk: UUID) -> str:
        return self._signer.sign(pk.hex)

    def read(self, token: str) -> UUID:
        """The id in a link's token.

        Raises BadSignature for a link that we did not sign, and its subclass SignatureExpired, or
        ValueError (the oldest links have no time), for an expired one.
        """
        return UUID(hex=self._signer.unsign(token, max_age=LIFETIME))


INVOICES = SignedLinks("billing.invoice")
DOCUMENTS = SignedLinks("billing.document")


P = ParamSpec("P")
View = Callable[Concatenate[HttpRequest, UUID, str, P], HttpResponse]


def opened_by(links: SignedLinks) -> Callable[[View[P]], Callable[..., HttpResponse]]:
    """Passes the view the id in front of its `token`."""

    def decorate(view: View[P]) -> Callable[..., HttpResponse]:
        @require_safe
        @wraps(view)
        def opened(
            request: HttpRequest, token: str, *args: P.args, **kwargs: P.kwargs
        ) -> HttpResponse:
            try:
                pk = links.read(token)
            except (signing.SignatureExpired, ValueError):
                context = {"days": LIFETIME.days}
                return render(request, "billing/link_expired.html", context, status=HTTPStatus.GONE)
            except signing.BadSignature:
                raise Http404 from None
            return view(request, pk, token, *args, **kwargs)

        return opened

    return decorate
