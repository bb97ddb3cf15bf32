"""Every page that single sign-on adds or changes, for the tests of accessibility and width."""

from collections.abc import Iterator

from allauth.socialaccount.models import SocialAccount
from django.conf import settings
from django.test import Client
from django.urls import reverse
from playwright.sync_api import Page, expect

from accounts.models import Company, User
from tests.accounts.oidc.sign_ins import sign_in_at_provider, signed_in
from tests.browser.people import owner_of, session_cookie
from tests.cabinet.routes import SINGLE_SIGN_ON
from tests.identity_provider import IdentityProvider

LONG_HOST = "signon.northwesternproductionandtrade.example.com"  # OIDC_NAME by default: the host
OF_VISITORS = ("account_login", "sso-callback")
WITH_IDENTITY = {"sso-disconnect", "sso-reauthenticate"}
WITHOUT_PASSWORD = ("sso-identity", "member-list", "session-list", "account_set_password")


def pages(acme: Company, provider: IdentityProvider) -> Iterator[tuple[str, str]]:
    """Returns pages as (cookie of the session or nothing, path), as `people.all_pages` does."""
    yield from (("", reverse(name)) for name in OF_VISITORS)
    cookie = session_cookie(owner_of(acme))
    yield from ((cookie, reverse(name)) for name in sorted(SINGLE_SIGN_ON - WITH_IDENTITY))
    cookie = session_cookie(_connected(acme))
    yield from ((cookie, reverse(name)) for name in sorted(WITH_IDENTITY | {"sso-identity"}))
    cookie = _without_password(provider)
    yield from ((cookie, reverse(name)) for name in WITHOUT_PASSWORD)


def open_redirect_page(page: Page, url: str) -> str:
    """Presses the button and stays on the page that leads to the provider; returns its markup."""
    page.route(f"{settings.OIDC_ISSUER}/**", lambda route: route.fulfill(status=204))
    page.goto(f"{url}{reverse('account_login')}")
    with page.expect_response(f"**{reverse('sso-start')}") as answered:
        page.locator(f"form[action='{reverse('sso-start')}'] button").click()
    expect(page.get_by_role("heading", name=settings.OIDC_NAME)).to_be_visible()
    return answered.value.text()


def _connected(acme: Company) -> User:
    user = owner_of(acme)
    email = f"{'very.long.name' * 3}@department.example.com"
    identity = {"user": user, "provider": settings.OIDC_ISSUER, "uid": "connected"}
    SocialAccount.objects.create(**identity, extra_data={"email": email})
    return user


def _without_password(provider: IdentityProvider) -> str:
    """Returns the session of a user without a password whom the provider has reauthenticated."""
    provider.person("anna", "acme-owners")
    client: Client = signed_in("anna")
    client.get(sign_in_at_provider(client, "anna", "sso-reauthenticate"))
    return client.cookies[settings.SESSION_COOKIE_NAME].value
