"""A company whose messages fall back, and the check of its books afterwards."""

from collections.abc import Iterator

import pytest

from channels import reconciliation
from tests.api.clients import Api
from tests.channels.fallback_stages import enable_fallback


@pytest.fixture
def falls_back(api: Api, transactional_db: None) -> Iterator[None]:
    """Messages fall back from WhatsApp to SMS; the books are checked after the test."""
    enable_fallback(api.company, "whatsapp", "sms")
    yield
    assert list(reconciliation.breaches()) == []
