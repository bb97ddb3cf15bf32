"""A refusal of a method names those that the path has (RFC 9110, section 15.5.6)."""

import pytest
from django.test import Client

from identity_hooks.kinds import kinds
from identity_hooks.models import PATH
from tests.factories import MemberFactory
from tests.odd_values.test_public import PARAMETER, every_route, hooks

METHODS = ("GET", "BREW")  # every path that looks at the method refuses the second
IDENTITY_HOOKS = [f"{PATH}/{kind}/x" for kind in kinds()]


def paths() -> list[str]:
    routed = [f"/{PARAMETER.sub('1', route)}" for route in every_route() if "[" not in route]
    return routed + hooks() + IDENTITY_HOOKS


@pytest.mark.django_db
def test_refused_methods_name_allowed_ones() -> None:
    client = Client()
    client.force_login(MemberFactory.create().user)

    allowed = {
        (method, path): response.headers.get("Allow")
        for path in paths()
        for method in METHODS
        if (response := client.generic(method, path)).status_code == 405
    }

    assert [request for request, methods in allowed.items() if not methods] == []
    assert {path for _method, path in allowed} >= {*hooks(), *IDENTITY_HOOKS}
