"""No page is kept by a cache between us and one reader, but for those that are everybody's."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import URLPattern, URLResolver, get_resolver

from config.middleware import MACHINE_PATHS, PUBLIC_ROUTES

KEPT_FOR_SECONDS = {"status", "status-feed"}  # everybody's too
# Any value that the converter of a path takes.
VALUES = {"int": 1, "str": "x", "slug": "x", "path": "x", "uuid": "0" * 32}


def addresses(resolver: URLResolver, path: str = "/") -> Iterator[tuple[str | None, str]]:
    for pattern in resolver.url_patterns:
        route = getattr(pattern.pattern, "_route", None)
        if route is None:  # a regular expression: allauth's two, the admin's rest, short links
            continue
        for name, converter in pattern.pattern.converters.items():
            kind = type(converter).__name__.removesuffix("Converter").lower()
            for spelling in (f"<{kind}:{name}>", f"<{name}>"):
                route = route.replace(spelling, str(VALUES.get(kind, "x")))
        if isinstance(pattern, URLPattern):
            yield pattern.name, path + route
        else:
            yield from addresses(pattern, path + route)


@pytest.mark.django_db
def test_visitor_responses_forbid_caching() -> None:
    client = Client(raise_request_exception=False)
    result = [
        (name, path)
        for name, path in addresses(get_resolver())
        if not path.startswith(MACHINE_PATHS) and name not in PUBLIC_ROUTES | KEPT_FOR_SECONDS
    ]

    kept = []
    for name, path in result:
        response = client.get(path)
        # A redirect to the sign-in page shows nothing.
        policy = response.headers.get("Cache-Control", "")
        if "no-store" not in policy and response.status_code != 302:
            kept.append((name, path, response.status_code))

    assert len(result) > 150
    assert kept == []
