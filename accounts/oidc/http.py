"""Requests to the provider: bounded in time, size and number, and never redirected.

The operator chooses the provider, often one in the own network, so the egress guard of webhooks
does not apply; its proxy is OIDC_PROXY.
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from threading import BoundedSemaphore
from typing import Any

import requests
from django.conf import settings

from accounts.oidc.refusals import Reason, RefusedError
from config.input.json_objects import read_object

TIMEOUTS = (2.0, 3.0)  # to connect, between two reads
DEADLINE = 6.0  # seconds for a whole answer
MAX_ANSWER = 2**20  # bytes
CHUNK = 2**14
# Per process: a provider that hangs must leave the other threads to codes and links.
_places = BoundedSemaphore(8)


def get_json(url: str, *, bearer: str = "") -> dict[str, Any]:
    headers = {"Authorization": f"Bearer {bearer}"} if bearer else {}
    return _json("GET", url, headers=headers)


def post_form(url: str, fields: dict[str, str], auth: tuple[str, str] | None) -> dict[str, Any]:
    return _json("POST", url, data=fields, auth=auth)


def _json(method: str, url: str, **options: Any) -> dict[str, Any]:
    """The object in the answer; raises RefusedError, whose detail quotes nothing of the answer."""
    require_secure(url)
    try:
        with _place(), requests.Session() as session:
            status, body = _read(session, method, url, **options)
            answer = read_object(body)
    except (requests.RequestException, ValueError) as error:
        raise RefusedError(Reason.UNAVAILABLE, type(error).__name__) from error
    if status >= requests.codes.server_error:
        raise RefusedError(Reason.UNAVAILABLE, f"status {status}")
    if status != requests.codes.ok:
        raise RefusedError(Reason.INVALID, f"status {status}")
    return answer


def _read(session: requests.Session, method: str, url: str, **options: Any) -> tuple[int, bytes]:
    session.trust_env = False  # neither a proxy nor a password from the environment
    if settings.OIDC_PROXY:
        session.proxies = {"http": settings.OIDC_PROXY, "https": settings.OIDC_PROXY}
    until = time.monotonic() + DEADLINE
    with session.request(
        method, url, timeout=TIMEOUTS, allow_redirects=False, stream=True, **options
    ) as answer:
        body = b""
        # read1: a read of a whole chunk would wait for each of its bytes.
        while chunk := answer.raw.read1(CHUNK, decode_content=True):
            body += chunk
            if len(body) > MAX_ANSWER or time.monotonic() > until:
                raise requests.Timeout
        return answer.status_code, body


@contextmanager
def _place() -> Iterator[None]:
    if not _places.acquire(blocking=False):
        raise RefusedError(Reason.UNAVAILABLE, "too many requests wait for it")
    try:
        yield
    finally:
        _places.release()


def require_secure(url: str) -> None:
    """An https issuer must not send the client secret or the person to plain http."""
    schemes = (
        ("https://",) if settings.OIDC_ISSUER.startswith("https://") else ("https://", "http://")
    )
    if not url.startswith(schemes):
        raise RefusedError(Reason.INVALID, "an endpoint is not https")
