"""A refusal of a method names those that the path has (RFC 9110, section 15.5.6)."""

import pytest
from django.test import Client

from identity_hooks.kinds import kinds
from identity_hooks.models import PATH
from tests.factories import MemberFactory
from tests.odd_values.test_public import PARAMETER, every_route, hooks

METHODS = ("GET", "POST", "PUT", "DELETE", "TRACE", "BREW")
IDENTITY_HOOKS = [f"{PATH}/{kind}/x" for kind in kinds()]


def paths() -> list[str]:
    routed = [f"/{PARAMETER.sub('1', route)}" for route in every_route() if "[" not in route]
    return routed + hooks() + IDENTITY_HOOKS


@pytest.mark.django_db
def test_refused_methods_name_allowed_ones() -> None:
    client = Client()
    client.force_login(MemberFactory.create().user)

    answers = [
        (method, path, client.generic(method, path)) for path in paths() for method in METHODS
    ]

    refused = [answer for answer in answers if answer[2].status_code == 405]
    assert [answer[:2] for answer in refused if not answer[2].headers.get("Allow")] == []
    assert {path for _method, path, _response in refused} >= {*hooks(), *IDENTITY_HOOKS}
    assert len(refused) > 500
