"""A code cannot be rendered once its key left OTP_KEYS; others can."""

import time

import pytest
from pytest_django import Settings

from channels.deliver import dispatcher
from channels.extensions import NotRenderableError
from channels.lifecycle.state_machine import EventKind
from config.ids import uuid7
from otp.texts import rendering
from tests.api.clients import Api
from tests.channels.message_stages import claim, send

URL = "https://example.com/"
NEW_KEYS = {"new": b"x" * 32}


def test_code_of_a_key_that_is_gone_cannot_be_rendered() -> None:
    with pytest.raises(NotRenderableError, match="no longer in OTP_KEYS"):
        rendering.render(
            subject_id=uuid7(), params={"key": "gone", "length": 6}, locale="ru", channel="sms"
        )


def test_test_messages_show_what_is_left(test_api: Api, settings: Settings) -> None:
    send(test_api)
    link = test_api.post("/links/send", {"phone": "+79161234568", "url": URL}).body["short_url"]
    settings.OTP_KEYS = NEW_KEYS
    with_link = send(test_api, "+79161234569", link=URL).params["short_url"]
    settings.OTP_KEYS = {"newer": b"y" * 32}

    answer = test_api.get("/test/messages")

    shown = [(one["text"], one["code"], one["short_url"]) for one in answer.body["data"]]
    assert answer.status == 200
    assert shown == [(None, None, with_link), ("ссылка от Ромашка", None, link), (None,) * 3]


def test_message_that_cannot_be_rendered_is_not_handed_over(api: Api, settings: Settings) -> None:
    send(api)
    (claimed,) = claim()
    settings.OTP_KEYS = NEW_KEYS

    event = dispatcher.hand_over(claimed, time.monotonic() + 60)

    assert (event.kind, event.code, event.detail) == (EventKind.REFUSED, "internal", "not rendered")
