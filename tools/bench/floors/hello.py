"""The redirect's floor: a WSGI application that returns the same redirect without Django."""

from collections.abc import Iterable
from wsgiref.types import StartResponse, WSGIEnvironment

URL = "https://shop.example.com/orders/2719?utm_source=sms&utm_campaign=codes"
_HEADERS = [
    ("Location", URL),
    ("Content-Length", "0"),
    ("Cache-Control", "private, no-store"),
    ("X-Robots-Tag", "noindex, nofollow"),
    ("Referrer-Policy", "no-referrer"),
]


def application(_environ: WSGIEnvironment, start_response: StartResponse) -> Iterable[bytes]:
    start_response("302 Found", list(_HEADERS))
    return (b"",)
