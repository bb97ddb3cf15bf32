"""The `doctor` checks single sign-on."""

import pytest
from django.contrib.auth.models import Group
from pytest_django import Settings

from accounts.models import Company
from config.environment.oidc_settings import parse_roles
from operator_admin.doctor import public_access
from tests.accounts.oidc.conftest import acme, identity_provider, provider
from tests.identity_provider import IdentityProvider

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("english")]
__all__ = ["acme", "identity_provider", "provider"]


def test_without_a_provider_there_is_nothing_to_check() -> None:
    assert public_access.identity_provider() == []
    assert public_access.identity_roles() == []


def test_provider_is_read(provider: IdentityProvider) -> None:
    (result,) = public_access.identity_provider()

    assert (result.ok, result.detail) == (True, f"{provider.issuer}, 1 keys")


def test_issuer_with_another_slash_is_found(provider: IdentityProvider, settings: Settings) -> None:
    settings.OIDC_ISSUER += "/"

    (result,) = public_access.identity_provider()

    assert "issuer differs" in result.detail
    assert "curl" in result.remedy


def test_missing_companies_and_groups_are_named(acme: Company, settings: Settings) -> None:
    settings.OIDC_ROLES = (*settings.OIDC_ROLES, *parse_roles("ghosts=owner:999999"))

    (missing,) = public_access.identity_roles()
    Group.objects.create(name="Support")
    settings.OIDC_ROLES = settings.OIDC_ROLES[:-1]
    (complete,) = public_access.identity_roles()

    assert missing.detail == "there is no company 999999, no group Support"
    assert complete.ok
