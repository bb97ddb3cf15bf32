"""Headers of API responses: the request's id, the key's rate limit, and those of refusals."""

from collections.abc import Sequence

from django.conf import settings
from django.http import HttpResponse

from api.rate_limit import Usage
from catalogue.errors import DomainError, Error


def add_to_all(response: HttpResponse, request_id: str, rate: Usage | None) -> None:
    """Adds the headers of every response; `rate` is None if no key was read."""
    response["X-Request-Id"] = request_id
    response["Cache-Control"] = "no-store"
    if rate:
        limit, remaining, wait = rate
        response["RateLimit-Policy"] = f'"key";q={limit};w={settings.API_RATE[1]}'
        response["RateLimit"] = f'"key";r={max(0, remaining)};t={wait}'


def ask_for_key(response: HttpResponse, refusal: DomainError, scheme: str = "Bearer") -> None:
    """Adds WWW-Authenticate to the refusal of a missing or invalid key."""
    if refusal.error is Error.INVALID_API_KEY:
        response["WWW-Authenticate"] = scheme


def add_to_refusal(
    response: HttpResponse, refusal: DomainError, allowed_methods: Sequence[str]
) -> None:
    if refusal.retry_after is not None:
        response["Retry-After"] = str(refusal.retry_after)
    if refusal.error is Error.METHOD_NOT_ALLOWED:
        response["Allow"] = ", ".join(allowed_methods)
