"""An endpoint, a delivery and a running dispatcher."""

import threading
from collections.abc import Iterator

import pytest

from accounts.models import Company
from tests.factories import CompanyFactory, DeliveryFactory, EndpointFactory
from tests.webhooks.receivers import Receiver
from webhooks.dispatcher import WebhookDispatcher
from webhooks.models import Delivery, Endpoint


@pytest.fixture
def company(db: None) -> Company:
    return CompanyFactory.create(name="Ромашка")


@pytest.fixture
def endpoint(company: Company, receiver: Receiver) -> Endpoint:
    """An endpoint at the receiver."""
    return EndpointFactory.create(company=company, url=receiver.url)


@pytest.fixture
def delivery(endpoint: Endpoint) -> Delivery:
    return DeliveryFactory.create(endpoint=endpoint, event__data={"id": "msg_1", "имя": "Ромашка"})


@pytest.fixture
def running_dispatcher(transactional_db: None) -> Iterator[WebhookDispatcher]:
    """A webhook dispatcher on its own thread, as in a worker."""
    dispatcher = WebhookDispatcher()
    thread = threading.Thread(target=dispatcher.run, name="webhooks")
    thread.start()
    yield dispatcher
    dispatcher.stop()
    thread.join(15)
