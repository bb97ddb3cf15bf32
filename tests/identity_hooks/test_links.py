"""A server's call with an address in place of a code: one message, sent again after a failure."""

from functools import partial

import pytest
from django.http import HttpResponse

from accounts.models import Company
from channels.lifecycle.state_machine import EventKind
from channels.models import Attempt, Message
from identity_hooks.hook_call import json_call
from identity_hooks.models import Hook
from tests.api.races import at_once
from tests.channels.message_stages import apply_event, claim
from tests.identity_hooks.calls import PHONE, body_of, make_hook, secret_of, send
from tests.otp.sent_codes import age_rows

INVITATION = "https://example.com/invitation?token=1"
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queued_at_once")]


@pytest.fixture
def hook(company: Company) -> Hook:
    return make_hook(company, "logto")


def invite(hook: Hook, link: str = INVITATION) -> HttpResponse:
    payload = {"to": PHONE, "type": "OrganizationInvitation", "payload": {"link": link}}
    return send(hook, json_call(payload, {"Authorization": f"Bearer {secret_of(hook)}"}))


def test_invitation_becomes_a_link(hook: Hook) -> None:
    statuses = [invite(hook).status_code for _try in range(2)]

    message = Message.objects.get()
    assert statuses == [200, 200]
    assert (message.kind, message.source_api) == ("link", "logto")
    assert "example.com" not in message.params["text"]


@pytest.mark.django_db(transaction=True)
def test_repeats_of_a_link_at_once_are_one_message(hook: Hook) -> None:
    responses = at_once([partial(invite, hook)] * 30)

    assert {response.status_code for response in responses} == {200}
    assert len({body_of(response)["id"] for response in responses}) == Message.objects.count() == 1


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("balanced_books")
@pytest.mark.parametrize("outcome", [EventKind.REFUSED, EventKind.EXPIRED])
def test_link_that_failed_is_refused_and_sent_again_after_the_cool_down(
    hook: Hook, outcome: EventKind
) -> None:
    invite(hook)
    claim()
    attempt = Attempt.objects.get()
    apply_event(attempt, EventKind.ACCEPTED, provider_id="vendor-1")
    apply_event(attempt, outcome)
    repeated = invite(hook)
    age_rows(seconds=61)

    again = at_once([partial(invite, hook)] * 4)

    assert (repeated.status_code, body_of(repeated)["code"]) == (502, "delivery_failed")
    assert {response.status_code for response in again} == {200}
    assert len({body_of(response)["id"] for response in again}) == 1
    assert Message.objects.count() == 2


def test_link_goes_by_the_channels_of_the_hook(company: Company) -> None:
    invite(make_hook(company, "logto", channels=["sms", "max"]))

    message = Message.objects.get()
    assert [message.channel, *(step["channel"] for step in message.chain)] == ["sms", "max"]


@pytest.mark.parametrize("link", ["http://10.0.0.1/", "not a link", "javascript:alert(1)"])
def test_link_that_may_not_be_shortened_is_refused(hook: Hook, link: str) -> None:
    assert invite(hook, link).status_code == 422
