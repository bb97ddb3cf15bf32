"""Sign-ins at the provider and back, as a browser makes them."""

from typing import Any

import requests
from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.http import HttpResponse
from django.test import Client
from django.urls import reverse

from accounts.models import User
from tests.identity_provider import enter

HERE = "http://testserver"
NAME = "Acme ID"
_browsers: dict[tuple[str, str], requests.Session] = {}


def start_sign_in(client: Client, page: str = "sso-start", **fields: str) -> str:
    """Presses the button; returns the provider's URL that it leads to."""
    response = client.post(reverse(page), fields)
    assert response.status_code == 200, response.status_code
    return response["Refresh"].partition("url=")[2]


def sign_in_at_provider(client: Client, person: str, page: str = "sso-start", **fields: str) -> str:
    """Signs in at the provider; returns our path that it leads back to."""
    address = start_sign_in(client, page, **fields)
    # Who is signed in at the provider already is not asked again, which saves five pages.
    browser = _browsers.setdefault((settings.OIDC_ISSUER, person), requests.Session())
    back = enter(browser, address, person)
    return back.removeprefix(HERE)


def sign_in(client: Client, person: str, **fields: str) -> HttpResponse:
    return client.get(sign_in_at_provider(client, person, **fields))  # type: ignore[return-value]


def signed_in(person: str) -> Client:
    """A new browser in which the person has signed in."""
    client = Client()
    assert sign_in(client, person).status_code == 302
    return client


def user_of(client: Client) -> User | None:
    pk = client.session.get("_auth_user_id")
    return User.objects.filter(pk=pk).first() if pk else None


def connect(user: User, person: str) -> None:
    """Connects the user's identity, as if the user had done so before."""
    SocialAccount.objects.create(user=user, provider=settings.OIDC_ISSUER, uid=person)


def refusal(response: Any) -> str:
    """Returns the reason of a page that refuses; empty for any other answer."""
    return str(response.context.get("reason", "")) if response.context else ""
