"""OIDC_ROLES as operators write it, and settings of a provider that cannot work."""

import pytest
from django.core.exceptions import ImproperlyConfigured

from accounts.oidc.grants import Grant
from config.environment.oidc_settings import parse_roles
from tests.config.test_settings import start

PROVIDER = {"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "kvitok"}


@pytest.mark.parametrize(
    ("text", "grants"),
    [
        ("", ()),
        (" , ", ()),
        ("admins=superuser", (Grant("admins", "superuser"),)),
        ("a = staff , b=staff: Support", (Grant("a", "staff"), Grant("b", "staff", "Support"))),
        ("/acme/devs=developer:17", (Grant("/acme/devs", "developer", "17"),)),
        ("CN=Owners=owner:1", (Grant("CN=Owners", "owner", "1"),)),
        ("a=viewer:1,a=accountant:2", (Grant("a", "viewer", "1"), Grant("a", "accountant", "2"))),
    ],
)
def test_roles_are_read_in_their_order(text: str, grants: tuple[Grant, ...]) -> None:
    assert parse_roles(text) == grants


@pytest.mark.parametrize(
    "text",
    [
        "admins",
        "=superuser",
        "admins=",
        "admins=superuser:1",
        "admins=administrator",
        "devs=developer",
        "devs=developer:acme",
        "devs=developer:١٧",
        "devs=developer:-1",
    ],
)
def test_rules_that_grant_nothing_are_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="OIDC_ROLES"):
        parse_roles(text)


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"OIDC_ISSUER": "https://id.example.com"}, "OIDC_ISSUER needs OIDC_CLIENT_ID"),
        (PROVIDER | {"OIDC_ISSUER": "id.example.com"}, "OIDC_ISSUER must be an https:// address"),
        (PROVIDER | {"OIDC_SCOPES": "email"}, "OIDC_SCOPES must name openid"),
        ({"OIDC_ROLES": "a=superuser"}, "need OIDC_ISSUER"),
        (PROVIDER | {"OIDC_SESSION_HOURS": "0"}, "OIDC_SESSION_HOURS must be 1 or more"),
        (PROVIDER | {"PROXIES": "oidc=proxy"}, "PROXIES: oidc must be"),
    ],
)
def test_provider_that_cannot_work_is_refused_at_start(changes: dict[str, str], words: str) -> None:
    refused = start(**changes)

    assert words in refused.stderr.strip().splitlines()[-1]
