"""Account checks: they send nothing, cost nothing and reveal no secret."""

import base64
import json
import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
import requests
import responses

from channels.providers.base import (
    AccountRequirements,
    Check,
    RefusedError,
    SendError,
    TransientError,
)
from channels.providers.http import HttpProvider
from tests.channels.providers import vendors

Wire = responses.RequestsMock
TWILIO_ACCOUNT = "AC00000000000000000000000000000001"


@dataclass(frozen=True)
class Question:
    account: Callable[..., HttpProvider]
    method: str
    url: str
    good: dict[str, Any]
    bad: dict[str, Any]
    status: int
    code: str
    secrets: tuple[str, ...]


QUESTIONS = {
    "whatsapp_cloud": Question(
        vendors.whatsapp,
        "GET",
        "https://graph.example.com/v25.0/106540352242922?fields=id",
        {"id": "106540352242922"},
        {"error": {"code": 190, "message": f"Invalid token {vendors.META_TOKEN}"}},
        401,
        "190",
        (vendors.META_TOKEN,),
    ),
    "telegram_gateway": Question(
        vendors.gateway,
        "POST",
        "https://gateway.example.com/checkVerificationStatus",
        {"ok": False, "error": "REQUEST_ID_INVALID"},
        {"ok": False, "error": "ACCESS_TOKEN_INVALID"},
        200,
        "ACCESS_TOKEN_INVALID",
        (vendors.GATEWAY_TOKEN,),
    ),
    "telegram_bot": Question(
        vendors.bot,
        "GET",
        f"https://bot.example.com/bot{vendors.BOT_TOKEN}/getMe",
        {"ok": True, "result": {"id": 1, "is_bot": True, "first_name": "Kvitok"}},
        {"ok": False, "error_code": 401, "description": "Unauthorized"},
        401,
        "401",
        (vendors.BOT_TOKEN,),
    ),
    "max_bot": Question(
        vendors.max_bot,
        "GET",
        "https://max.example.com/me",
        {"user_id": 1, "first_name": "Kvitok", "is_bot": True},
        {"code": "verify.token", "message": f"Invalid {vendors.MAX_TOKEN}"},
        401,
        "verify.token",
        (vendors.MAX_TOKEN, vendors.MAX_SECRET),
    ),
    "twilio": Question(
        vendors.twilio,
        "GET",
        f"https://twilio.example.com/2010-04-01/Accounts/{TWILIO_ACCOUNT}.json",
        {"sid": TWILIO_ACCOUNT, "status": "active"},
        {"code": 20003, "message": "Authenticate"},
        401,
        "20003",
        (vendors.TWILIO_TOKEN,),
    ),
    "smsc": Question(
        vendors.smsc,
        "POST",
        "https://smsc.example.com/sys/balance.php",
        {"balance": "286.55"},
        {"error": f"authorise error {vendors.SMSC_PASSWORD}", "error_code": 2},
        200,
        "2",
        (vendors.SMSC_PASSWORD,),
    ),
}


@pytest.fixture(params=list(QUESTIONS))
def question(request: pytest.FixtureRequest) -> Question:
    return QUESTIONS[request.param]


def refusal(question: Question) -> SendError:
    with pytest.raises(SendError) as caught:
        question.account().check()
    assert not any(secret in str(caught.value) for secret in question.secrets)
    return caught.value


def test_check_of_a_working_account_is_one_call(question: Question, wire: Wire) -> None:
    wire.add(question.method, question.url, json=question.good)

    question.account().check()

    assert len(wire.calls) == 1


def test_check_of_a_refused_account_is_an_account_fault(question: Question, wire: Wire) -> None:
    wire.add(question.method, question.url, json=question.bad, status=question.status)

    error = refusal(question)

    assert isinstance(error, RefusedError)
    assert (error.code, error.account) == (question.code, True)


def test_unreachable_vendor_fails_the_check(question: Question, wire: Wire) -> None:
    wire.add(question.method, question.url, body=requests.ConnectTimeout("no"))

    assert isinstance(refusal(question), TransientError)


APP_ID = "2949482758682047"
CHECKED = AccountRequirements("https://kvitok.example.com/hooks/x", ("RU",))


def echoing(request: requests.PreparedRequest) -> tuple[int, dict[str, str], str]:
    """A vendor that quotes the request: address, credentials and body."""
    scheme, _, given = str(request.headers.get("Authorization", "")).partition(" ")
    if scheme == "Basic":
        given = base64.b64decode(given).decode()
    text = f"{request.url} {given} {vendors.body_of(request) if request.body else b''!r}"
    error = {"code": 190, "message": text}
    return 400, {}, json.dumps({"error": error, "code": 20404, "message": text})


def test_no_secret_in_a_check_whatever_the_vendor_quotes(question: Question, wire: Wire) -> None:
    wire.add(question.method, question.url, json=question.good)
    wire.get(re.compile(r".*/app\?fields=id"), json={"id": APP_ID})
    for method in ("GET", "POST"):
        wire.add_callback(method, re.compile(".*"), callback=echoing)
    secrets = (*question.secrets, vendors.META_SECRET)

    checks = question.account().checks(CHECKED)

    assert checks[0] == Check("account", True)
    assert [check for check in checks if any(secret in check.detail for secret in secrets)] == []


@pytest.mark.parametrize("body", [b"", b"<html>", b"[]", b"{}"])
def test_unexpected_response_fails_the_check(question: Question, wire: Wire, body: bytes) -> None:
    wire.add(question.method, question.url, body=body, status=200)

    refusal(question)


@pytest.mark.parametrize(("named", "username"), [("kvitok_bot", "Kvitok_Bot"), ("", "kvitok_bot")])
def test_bot_username_is_compared_without_case(wire: Wire, named: str, username: str) -> None:
    question = QUESTIONS["telegram_bot"]
    wire.get(question.url, json={"ok": True, "result": {"id": 1, "username": username}})

    vendors.bot(username=named).check()


def test_bot_of_another_name_is_not_ours(wire: Wire) -> None:
    question = QUESTIONS["telegram_bot"]
    wire.get(question.url, json={"ok": True, "result": {"id": 1, "username": "other_bot"}})

    with pytest.raises(RefusedError) as caught:
        vendors.bot(username="kvitok_bot").check()

    text = "username: Telegram calls the bot @other_bot, the settings @kvitok_bot"
    assert (str(caught.value), caught.value.account) == (text, True)


def test_twilios_account_that_is_suspended(wire: Wire) -> None:
    question = QUESTIONS["twilio"]
    wire.get(question.url, body=json.dumps({"sid": TWILIO_ACCOUNT, "status": "suspended"}))

    assert str(refusal(question)) == "account_status: suspended"
