import threading
from collections.abc import Iterator

import pytest

from accounts.models import Company, Endpoint
from accounts.webhooks.dispatcher import Courier
from tests.accounts.webhooks.receivers import Receiver, listening
from tests.factories import CompanyFactory, EndpointFactory


@pytest.fixture
def company(db: None) -> Company:
    return CompanyFactory.create(name="Ромашка")


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with listening() as one:
        yield one


@pytest.fixture
def endpoint(company: Company, receiver: Receiver) -> Endpoint:
    """At the receiver."""
    return EndpointFactory.create(company=company, url=receiver.url)


@pytest.fixture
def courier(transactional_db: None) -> Iterator[Courier]:
    """The courier of a worker, on a thread."""
    one = Courier()
    thread = threading.Thread(target=one.run, name="courier")
    thread.start()
    yield one
    one.stop()
    thread.join(15)
