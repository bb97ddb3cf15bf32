"""A click of a person proves that the message was delivered."""

import time
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Any
from uuid import uuid4

import orjson
import pytest
from pytest_django import Settings

from billing.wallet import ledger
from channels import reconciliation
from channels.deliver import sweeps
from channels.history.timeline import timeline
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from links.clicks import bot_detection, counting, delivery_proof
from links.clicks.bot_detection import VisitorKind
from links.clicks.buffer import STREAM
from links.models import Link
from storage.redis_client import blocking_redis_client
from tests.api.clients import Api
from tests.api.races import at_once
from tests.channels.accounts import set_account
from tests.channels.fallback_stages import MOVED, URL, enable_fallback, fallback_events, transfers
from tests.channels.message_stages import PHONE, apply_event, claim
from tests.factories import LinkFactory
from tests.otp.sent_codes import age_rows, forget_limits
from tests.sql import execute

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture(autouse=True)
def _chain(api: Api, transactional_db: None) -> Iterator[None]:
    enable_fallback(api.company, "whatsapp", "sms")
    delivery_proof.prove_clicks()  # makes the group
    yield
    blocking_redis_client().delete(STREAM)
    assert list(reconciliation.breaches()) == []


def send_accepted(api: Api, path: str = "/links/send", **fields: object) -> Message:
    """Sends a message that the vendor accepts."""
    assert api.post(path, {"phone": PHONE} | fields).status == 200
    claim()
    attempt = Attempt.objects.select_related("message").latest("started_at")
    apply_event(attempt, EventKind.ACCEPTED, provider_id=f"vendor-{attempt.pk}")
    return attempt.message


def link_sent(api: Api) -> Message:
    return send_accepted(api, url=URL)


def click(
    message: Message,
    kind: VisitorKind = VisitorKind.PERSON,
    after: float = bot_detection.SCANNER_WINDOW + 1,
) -> None:
    link = Link.objects.get(message_id=message.pk)
    rows = [(link.id.hex, kind, int((time.time() + after) * 1000))]
    blocking_redis_client().xadd(STREAM, {"id": uuid4().hex, "batch": orjson.dumps(rows)})


def state(message: Message) -> tuple[str, str]:
    message.refresh_from_db()
    return message.state, message.channel


def test_refused_click_keeps_others(api: Api) -> None:
    message = link_sent(api)
    refused = LinkFactory.create(message_id=uuid4())
    good = Link.objects.get(message_id=message.pk)
    execute(
        "CREATE FUNCTION refuse_row() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN"
        f" IF NEW.id = '{refused.pk}' THEN RAISE EXCEPTION 'refused'; END IF; RETURN NEW;"
        " END $$; CREATE TRIGGER refuse BEFORE UPDATE ON links_link"
        " FOR EACH ROW EXECUTE FUNCTION refuse_row()"
    )
    try:
        at = int((time.time() + bot_detection.SCANNER_WINDOW + 1) * 1000)
        rows = [(link.pk.hex, VisitorKind.PERSON, at) for link in (refused, good)]
        fields: dict[Any, Any] = {"id": uuid4().hex, "batch": orjson.dumps(rows)}
        blocking_redis_client().xadd(STREAM, fields)
        delivery_proof.prove_clicks()
    finally:
        execute("DROP FUNCTION refuse_row CASCADE")

    assert state(message) == ("delivered", "whatsapp")


def test_click_proves_the_delivery_and_sends_no_sms(api: Api) -> None:
    message = link_sent(api)
    click(message)

    assert delivery_proof.prove_clicks() == 1
    age_rows(seconds=121)
    sweeps.fall_back()

    assert (state(message), claim()) == (("delivered", "whatsapp"), [])
    assert transfers(message) == [("hold", 1, ""), ("capture", 1, "click")]
    assert ledger.balance(api.company.pk) == (999, 0)


@pytest.mark.parametrize(
    ("delivered_on", "balance"), [("accept", (999, 0)), ("click", (999, 0)), ("never", (999, 1))]
)
def test_operator_says_whether_a_click_proves_the_bots_delivery(
    api: Api, settings: Settings, delivered_on: str, balance: tuple[int, int]
) -> None:
    set_account(settings, "telegram_bot", {"delivered_on": delivered_on})
    message = send_accepted(api, url=URL, channel="telegram")
    assert message.attempts.get().provider == "telegram_bot"
    click(message)

    delivery_proof.prove_clicks()

    assert ledger.balance(api.company.pk) == balance


@pytest.mark.parametrize("kind", [VisitorKind.PREVIEW, VisitorKind.SCANNER])
def test_bot_clicks_prove_no_delivery(api: Api, kind: VisitorKind) -> None:
    message = link_sent(api)
    click(message, kind)

    assert delivery_proof.prove_clicks() == 1

    assert state(message) == ("sent", "whatsapp")
    assert Link.objects.get().clicked_at is None
    assert ledger.balance(api.company.pk) == (999, 1)


def test_visitor_during_submission_proves_nothing(api: Api) -> None:
    message = link_sent(api)
    click(message, after=0)
    delivery_proof.prove_clicks()
    unproved = state(message)

    click(message)
    delivery_proof.prove_clicks()

    assert (unproved, state(message)) == (("sent", "whatsapp"), ("delivered", "whatsapp"))


def test_click_cancels_an_unsent_sms(api: Api) -> None:
    message = link_sent(api)
    age_rows(seconds=121)
    sweeps.fall_back()
    click(message)

    delivery_proof.prove_clicks()

    assert (state(message), claim()) == (("delivered", "whatsapp"), [])
    assert transfers(message) == [*MOVED, ("release", 16, "late proof")]
    assert fallback_events(message) == [("patience", "sms"), ("click", "sms")]
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_repeated_clicks_change_nothing(api: Api) -> None:
    message = link_sent(api)
    click(message)
    click(message)
    delivery_proof.prove_clicks()
    first = Link.objects.get().clicked_at
    click(message)

    at_once([delivery_proof.prove_clicks] * 3)

    assert Link.objects.get().clicked_at == first
    assert transfers(message) == [("hold", 1, ""), ("capture", 1, "click")]


def test_link_with_code_proves_only_its_own_message(api: Api) -> None:
    dear = send_accepted(api, "/otp/send", link=URL, channel="sms")
    forget_limits()
    cheap = send_accepted(api, "/otp/send", link=URL)
    click(dear)

    delivery_proof.prove_clicks()

    assert (state(dear)[0], state(cheap)[0]) == ("delivered", "sent")
    assert (cheap.chain, fallback_events(cheap)) == ([], [("click", "sms")])
    assert ledger.balance(api.company.pk) == (983, 1)
    click(cheap)
    delivery_proof.prove_clicks()
    assert ledger.balance(api.company.pk) == (983, 1)  # one delivery of a code is proved by use


def test_links_without_a_message_prove_nothing(api: Api) -> None:
    made = LinkFactory.create(company=api.company)

    delivery_proof.prove({made.pk: time.time(), uuid4(): time.time()})

    made.refresh_from_db()
    assert made.clicked_at is None


@pytest.mark.parametrize("path", ["/links/send", "/otp/send"])
def test_timeline_shows_the_click(api: Api, path: str) -> None:
    message = send_accepted(api, path, **({"link": URL} if path == "/otp/send" else {"url": URL}))
    click(message)
    delivery_proof.prove_clicks()

    assert link_entries(message) == [("Ссылку открыли", "")]
    opened_at = Link.objects.get(message_id=message.pk).clicked_at
    assert opened_at is not None
    shown_at = datetime.fromisoformat(api.get(f"/messages/{message.public_id}").body["opened_at"])
    assert abs(shown_at - opened_at) < timedelta(milliseconds=1)


@pytest.mark.parametrize("path", ["/links/send", "/otp/send"])
def test_timeline_shows_bots_separately(api: Api, path: str) -> None:
    message = send_accepted(api, path, **({"link": URL} if path == "/otp/send" else {"url": URL}))
    for kind in (VisitorKind.PREVIEW, VisitorKind.PROBE, VisitorKind.SCANNER):
        click(message, kind)
    counting.count_clicks()
    counting.count_clicks()
    delivery_proof.prove_clicks()

    assert link_entries(message) == [
        ("Загружен предпросмотр ссылки", "раз: 2; переходами не считаются"),
        ("Ссылку проверил сканер", "раз: 1; переходами не считаются"),
    ]
    assert api.get(f"/messages/{message.public_id}").body["opened_at"] is None


def link_entries(message: Message) -> list[tuple[str, str]]:
    message.refresh_from_db()
    steps = [(str(step.title), str(step.detail)) for step in timeline(message)]
    return [step for step in steps if "сылк" in step[0]]


def test_our_own_fault_loses_no_click(api: Api, monkeypatch: pytest.MonkeyPatch) -> None:
    click(link_sent(api))
    with monkeypatch.context() as broken:
        broken.setattr(delivery_proof, "prove", lambda _clicks: 1 / 0)
        delivery_proof.prove_clicks()

    waiting = blocking_redis_client().xpending(STREAM, delivery_proof.CONSUMER.group)
    assert waiting["pending"] == 1
