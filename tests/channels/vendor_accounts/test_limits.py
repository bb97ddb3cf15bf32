"""The limit that a vendor states bounds its account from the first message on."""

import pytest
from pytest_django import Settings

from channels.models import ProviderAccount
from channels.vendor_accounts import pauses, stored_credentials
from tests.factories import UserFactory
from tests.stack.programs import wait_until

pytestmark = pytest.mark.django_db


def limits() -> dict[str, int | None]:
    return dict(ProviderAccount.objects.values_list("name", "max_per_second"))


@pytest.mark.django_db(transaction=True)
def test_worker_bounds_the_accounts_whose_vendor_states_a_limit(
    settings: Settings, request: pytest.FixtureRequest
) -> None:
    settings.SIMULATOR_URL = ""

    request.getfixturevalue("dispatcher")

    wait_until(lambda: limits() == {"max_bot": 30})


def test_limit_that_the_operator_set_stays(settings: Settings) -> None:
    settings.SIMULATOR_URL = ""
    ProviderAccount.objects.create(name="max_bot", position=7, max_per_second=10)

    pauses.ensure_limits()
    pauses.ensure_rows()

    assert limits()["max_bot"] == 10
    assert limits()["twilio"] is None


def test_simulator_has_no_limit() -> None:
    pauses.ensure_limits()

    assert limits() == {}


def test_account_that_an_operator_connects_is_bounded() -> None:
    user, values = UserFactory.create(), {"token": "t", "username": "b", "secret_token": "s"}

    stored_credentials.save(name="max_bot", values=values, user=user, ip="")

    assert limits() == {"max_bot": 30}
