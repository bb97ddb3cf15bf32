"""A month of messages that are over, and its archive."""

from collections.abc import Iterator
from datetime import UTC, date
from pathlib import Path

import pytest
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from accounts import purges
from billing.seals import sealing
from channels.lifecycle.state_machine import Event, EventKind
from channels.models import FallbackEvent, Message
from channels.outcomes import transitions
from links.clicks import partitions
from storage.months.calendar import next_month
from tests.api.clients import Api
from tests.channels.message_stages import accepted
from tests.operator_admin.archive.databases import copied


@pytest.fixture
def month() -> date:
    return timezone.now().astimezone(UTC).date().replace(day=1)


@pytest.fixture
def own_database(transactional_db: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(partitions, "_created", set())  # in another database
    settings = connection.settings_dict
    with copied(settings["TEST"]["TEMPLATE"] or settings["NAME"], "kvitok_archive"):
        yield


@pytest.fixture
def directory(tmp_path: Path) -> Path:
    (tmp_path / "archive").mkdir()
    return tmp_path / "archive"


@pytest.fixture
def history(api: Api, month: date, settings: Settings) -> Api:
    """Messages that ended a year ago, after the purge."""
    for number, kind in enumerate((EventKind.DELIVERED, EventKind.UNREACHABLE, EventKind.EXPIRED)):
        attempt = accepted(api, f"+7916123456{number}", channel="sms")
        transitions.commit_events([Event(attempt.message_id, attempt.id, kind)])
    FallbackEvent.objects.create(
        message=Message.objects.earliest("id"), reason="patience", channel="sms"
    )
    settings.PHONE_RETENTION = settings.RAW_RETENTION = -1
    purges.purge()
    sealing.seal_before(next_month(next_month(month)))
    return api
