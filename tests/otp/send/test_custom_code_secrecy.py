"""A custom code leaves no trace in forbidden stores, during its life and after it."""

import gzip
from io import StringIO
from pathlib import Path

import pytest
from django.conf import settings
from django.core.management import call_command
from django.test import Client
from django.urls import reverse

from channels.deliver import dispatcher
from channels.models import Message
from channels.outcomes import transitions
from channels.providers.base import Outgoing, Provider, RefusedError
from channels.vendor_accounts import registry
from links.follow import change_feed
from otp.models import SealedCode
from tests.api.clients import Api
from tests.channels.message_stages import PHONE, claim
from tests.sql import execute
from tests.stack import secret_search

pytestmark = pytest.mark.django_db(transaction=True)
CODE = "Zq7Xw9Kp2M"


@pytest.fixture(autouse=True)
def _no_reads_by_the_change_feed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(change_feed, "STOPS_REFRESH_INTERVAL", float("inf"))


def write_ahead_log() -> bytes:
    (directory,) = execute("SELECT current_setting('data_directory')")[0]
    files = (Path(directory) / "pg_wal").glob("0*")
    return b"".join(path.read_bytes() for path in files)


def pages(api: Api, client: Client) -> bytes:
    message = Message.objects.latest("id")
    shown = [
        client.get(reverse("message-list")).content,
        client.get(reverse("message-detail", args=[message.public_id])).content,
        api.get(f"/messages/{message.public_id}").raw,
        api.get("/messages", {"phone": PHONE}).raw,
        api.get("/otp", {"phone": PHONE}).raw,
    ]
    assert all(len(text) > 300 for text in shown)
    return b"".join(shown)


def backup(directory: Path) -> bytes:
    call_command("backup", directory, stdout=StringIO(), stderr=StringIO())
    files = [path for path in directory.rglob("*") if path.is_file()]
    contents = [path.read_bytes() for path in files]
    return b"".join(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text for text in contents)


@pytest.mark.usefixtures("owner")
def test_code_is_nowhere_in_the_clear(
    api: Api,
    client: Client,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """At rest there are its MAC and its ciphertext, which no backup has."""
    asked = {"phone": PHONE, "code": CODE, "channel": "sms"}
    assert api.post("/otp/send", asked, Idempotency_Key="once").status == 200
    assert api.post("/otp/send", asked | {"locale": "xx-not-one!"}).status in {200, 422}
    sealed = bytes(SealedCode.objects.get().sealed)
    during = {
        "rows": secret_search.postgres_contents(),
        "redis": redis_contents(),
        "pages": pages(api, client),
        "backup": backup(tmp_path / "during"),
    }
    # A vendor that refuses it repeats what it was given.
    (claimed,) = claim()
    monkeypatch.setattr(type(registry.provider(claimed.provider)), "send", refuse_and_repeat)
    transitions.commit_events([dispatcher.hand_over(claimed, start_before=float("inf"))])
    api.post("/otp/verify", {"phone": PHONE, "code": CODE})
    after = {
        "rows after": secret_search.postgres_contents(),
        "redis after": redis_contents(),
        "pages after": pages(api, client),
        "write-ahead log": write_ahead_log(),
        "logs": "".join(capsys.readouterr()).encode(),
    }

    pattern = secret_search.secret_pattern(CODE)
    result = [place for place, text in (during | after).items() if pattern.search(text)]
    assert result == []
    assert sealed.hex().encode() in during["rows"]
    assert sealed.hex().encode() not in during["backup"] + after["rows after"]
    assert b"+7916" in during["backup"]
    assert Message.objects.get().state == "failed"


def refuse_and_repeat(_provider: Provider, message: Outgoing) -> None:
    assert message.code == CODE
    raise RefusedError("E1", f"bad text: {message.text} / {message.code.lower()}")


def redis_contents() -> bytes:
    return secret_search.redis_values(settings.REDIS_URL)
