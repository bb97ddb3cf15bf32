"""Claims as providers write them, and as nobody should."""

import pytest
from django.test import RequestFactory
from pytest_django import Settings

from accounts.oidc import identities
from accounts.oidc import tokens as of
from accounts.oidc.refusals import Reason, RefusedError
from config.environment.oidc_settings import parse_roles
from tests.factories import UserFactory


@pytest.mark.parametrize(
    ("auth_time", "seconds"),
    [
        (1_764_000_000, 1_764_000_000.0),
        (1_764_000_000.75, 1_764_000_000.0),
        (10**400, 0.0),
        (-1, 0.0),
        (float("nan"), 0.0),
        (float("inf"), 0.0),
        (1e300, 0.0),
        (True, 0.0),
        ("1764000000", 0.0),
        ([], 0.0),
        (None, 0.0),
    ],
)
def test_time_of_authentication(auth_time: object, seconds: float) -> None:
    assert of.authenticated_at({"auth_time": auth_time}) == seconds


@pytest.mark.parametrize("odd", [[], {}, ["a"], {"a": 1}, 10**400, float("nan"), None, True, "a"])
def test_odd_claim_says_nothing(settings: Settings, odd: object) -> None:
    settings.OIDC_TRUSTED_AMR = settings.OIDC_TRUSTED_ACR = frozenset({"mfa"})
    claims = dict.fromkeys(
        ("email", "email_verified", "name", "amr", "acr", "auth_time", settings.OIDC_GROUPS_CLAIM),
        odd,
    )

    assert of.email(claims) == ""
    assert of.authenticated_at(claims) == 0.0
    assert not of.has_trusted_factor(claims)
    assert of.groups(claims) <= {"a"}


@pytest.mark.parametrize("stored", ["anna@faß.de", "Anna@FASS.de", "anna@xn--fa-hia.de"])
@pytest.mark.parametrize("claimed", ["anna@FAß.de", "Anna@xn--fa-hia.DE", "anna@faß.de."])
@pytest.mark.django_db
def test_address_is_taken_in_either_spelling_of_its_domain(
    rf: RequestFactory, settings: Settings, stored: str, claimed: str
) -> None:
    settings.OIDC_ISSUER = "https://id.example.com"
    UserFactory.create(email=stored)
    claims = {"sub": "1", "email": claimed, "email_verified": True}

    with pytest.raises(RefusedError) as refused:
        identities.find_or_create(claims, rf.get("/"))

    is_another = stored.endswith("FASS.de")  # the site of somebody else
    assert refused.value.reason == (Reason.NO_ACCOUNT if is_another else Reason.ADDRESS_TAKEN)


@pytest.mark.parametrize("path", ["groups", "groups.kvitok", "https://example.com/groups"])
def test_groups_that_are_elsewhere_are_not_taken_for_none(settings: Settings, path: str) -> None:
    settings.OIDC_GROUPS_CLAIM, settings.OIDC_ROLES = path, parse_roles("admins=superuser")
    root = path if ":" in path else "groups"
    elsewhere = {"_claim_names": {root: "src1"}, "_claim_sources": {"src1": {"endpoint": "x"}}}

    with pytest.raises(RefusedError) as refused:
        of.groups(elsewhere)
    settings.OIDC_ROLES = parse_roles("")

    assert refused.value.reason == Reason.GROUPS_ELSEWHERE
    assert of.groups(elsewhere) == frozenset()  # they give nothing
