"""A real provider for the session, and settings that name it."""

from collections.abc import Iterator

import pytest
from pytest_django import Settings

from accounts.models import Company
from accounts.oidc import discovery
from tests.accounts.oidc.sign_ins import HERE, NAME
from tests.factories import CompanyFactory
from tests.identity_provider import CLIENT_ID, SECRET, IdentityProvider, running
from tests.identity_provider.settings import grant


@pytest.fixture(scope="session")
def identity_provider() -> Iterator[IdentityProvider]:
    with running() as provider:
        provider.accept(HERE)
        yield provider


@pytest.fixture
def provider(identity_provider: IdentityProvider, settings: Settings) -> IdentityProvider:
    """The provider in the settings; it grants nothing yet."""
    settings.PUBLIC_URL = HERE
    settings.OIDC_ISSUER = identity_provider.issuer
    settings.OIDC_NAME = NAME
    settings.OIDC_CLIENT_ID = CLIENT_ID
    settings.OIDC_CLIENT_SECRET = SECRET
    settings.OIDC_SCOPES = ["openid", "email", "profile", "groups"]
    settings.OIDC_ASSUME_EMAIL_VERIFIED = True  # Canaille does not say
    discovery.clear_cache()
    identity_provider.person("anna")
    return identity_provider


@pytest.fixture
def acme(db: None, provider: IdentityProvider, settings: Settings) -> Company:
    """A company whose roles, like the operator's, come from groups."""
    company = CompanyFactory.create(name="Acme")
    grant(settings, "acme-owners", f"owner:{company.pk}")
    grant(settings, "acme-devs", f"developer:{company.pk}")
    grant(settings, "operators", "staff:Support")
    grant(settings, "admins", "superuser")
    return company
