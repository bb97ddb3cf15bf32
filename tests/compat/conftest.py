"""Every test here runs in one transaction unless it asks for more, and waits for no delivery."""

import pytest
from django.db import connection


@pytest.fixture(autouse=True)
def in_the_tests_transaction(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, queued_at_once: None
) -> None:
    mark = request.node.get_closest_marker("django_db")
    if mark is None or not mark.kwargs.get("transaction"):
        monkeypatch.setattr(connection, "close", lambda: None, raising=False)
