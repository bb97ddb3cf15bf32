"""The log of page requests: the route, and nothing of the path's secrets."""

import pytest
from django.test import RequestFactory
from django.urls import reverse

from config.middleware import RequestLog


@pytest.mark.parametrize(
    ("path", "logged"),
    [
        ("/cabinet/messages?phone=%2B79261234567", "GET /cabinet/messages"),
        (
            "/account/password/reset/key/2-secret/",
            "GET /account/password/reset/key/(?P<uidb36>[0-9A-Za-z]+)-(?P<key>.+)/$",
        ),
        ("/cabinet/join/secret", "GET /cabinet/join/<str:token>"),
        ("/nowhere/at/all", "GET (no such page)"),
    ],
)
def test_page_is_named_and_not_its_address(path: str, logged: str) -> None:
    assert RequestLog.format_request(RequestFactory().get(path)) == logged


def test_routes_of_the_test_are_real() -> None:
    assert reverse("invitation-join", args=["secret"]) == "/cabinet/join/secret"
