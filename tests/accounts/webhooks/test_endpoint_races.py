"""Calls about one endpoint at once."""

from collections import Counter

import pytest

from accounts.models import Endpoint
from accounts.webhooks import endpoints
from config.errors import DomainError
from tests.api.clients import Api
from tests.api.races import at_once
from tests.factories import EndpointFactory

URL = "https://receiver.example.com/kvitok"


@pytest.mark.django_db(transaction=True)
def test_parallel_examples_cannot_exceed_the_limit(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)
    path = f"/webhooks/{endpoint.public_id}/test"

    answers = at_once([lambda: api.post(path)] * 30)

    assert Counter(answer.status for answer in answers) == {200: 20, 429: 10}


def test_address_of_an_endpoint_that_has_just_got_money_stays(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company, kinds=["message.sent"])
    Endpoint.objects.filter(pk=endpoint.pk).update(kinds=["balance.low"])

    with pytest.raises(DomainError):
        endpoints.change(endpoint=endpoint, changes={"url": URL}, scopes=["otp"], user=None)

    endpoint.refresh_from_db()
    assert endpoint.url != URL
