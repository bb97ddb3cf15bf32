"""Prelude's options, custom codes and payments."""

from typing import Any

import pytest
from django.conf import settings

from accounts.keys import api_keys
from accounts.models import Company
from channels.models import Message
from compat.prelude.views import FEW, REPORTING
from otp.models import Autofill, Verification
from tests.channels.routing.test_company_policy import rule, use
from tests.compat.clients import DialectClient
from tests.compat.prelude.calls import ODD, PHONE, PURPOSE, check, refusal, send, target
from tests.otp.sent_codes import age_rows, code_of

pytestmark = pytest.mark.usefixtures("queued_at_once")
PAYMENT = {"amount": "12.34", "currency": "EUR", "recipient": "Shop"}


def test_untried_channel_sends_during_the_cool_down(client: DialectClient) -> None:
    send(client)

    retry = send(client, options={"preferred_channel": "sms"}).body

    assert (retry["status"], retry["channels"]) == ("retry", ["sms"])


def test_challenge_sends_no_sms_during_the_cool_down_either(client: DialectClient) -> None:
    send(client)

    retry = send(client, options={"preferred_channel": "sms", "force_challenge": True}).body

    assert (retry["status"], retry["channels"]) == ("retry", ["whatsapp"])
    assert [message.channel for message in Message.objects.all()] == ["whatsapp"]


@pytest.mark.parametrize("code", [{}, {"custom_code": "A1b2C3"}])
def test_repeat_passes_over_a_preferred_channel_that_shows_no_payment(
    client: DialectClient, company: Company, code: dict[str, str]
) -> None:
    company.falls_back = True
    company.fallback_chain = ["whatsapp", "sms"]
    company.save()
    api_keys.clear_cache()
    options = {"preferred_channel": "whatsapp", "template_id": "prelude:psd2"}

    first, repeat = (
        send(client, options=options | {"variables": PAYMENT} | code).body for _ in range(2)
    )

    assert (first["status"], first["channels"]) == ("success", ["sms"])
    assert (repeat["status"], repeat["channels"], repeat["id"]) == ("retry", ["sms"], first["id"])
    assert Message.objects.count() == 1


@pytest.mark.parametrize(
    ("options", "channels"),
    [
        ({"channels": ["sms", "whatsapp"]}, ["sms", "whatsapp"]),
        ({"channels": ["telegram"], "max_auto_fallbacks": 3}, ["telegram"]),
        (
            {"channels": ["sms", "telegram", "whatsapp"], "max_auto_fallbacks": 1},
            ["sms", "telegram"],
        ),
        ({"preferred_channel": "telegram"}, ["telegram", "whatsapp", "sms"]),
        ({"preferred_channel": "viber"}, ["whatsapp", "sms"]),
        ({"max_auto_fallbacks": 0}, ["whatsapp"]),
        ({"force_challenge": True}, ["whatsapp"]),
    ],
)
def test_channels_are_tried_in_the_requested_order(
    client: DialectClient, company: Company, options: dict[str, Any], channels: list[str]
) -> None:
    company.falls_back = True
    company.fallback_chain = ["whatsapp", "sms"]
    company.save()
    api_keys.clear_cache()

    body = send(client, options=options).body

    message = Message.objects.get()
    tried = [message.channel, *(step["channel"] for step in message.chain)]
    assert [name for name in tried if name != "max"] == channels
    assert body["channels"] == channels[:1]
    assert body["status"] == ("challenged" if "force_challenge" in options else "success")


@pytest.mark.parametrize("options", [{}, {"preferred_channel": "viber"}, {"channels": ["sms"]}])
def test_policy_without_a_channel_is_refused(
    client: DialectClient, options: dict[str, Any]
) -> None:
    use(rule(channels=["sms"]), rule(country="RU", barred=["sms"]))
    api_keys.clear_cache()

    refused = send(client, options=options)
    named = send(client, options={"preferred_channel": "whatsapp"}).body

    assert refusal(refused) == (400, "channel_not_enabled_in_region")
    assert (named["status"], named["channels"]) == ("success", ["whatsapp"])


def test_options_shape_the_code(client: DialectClient) -> None:
    send(client, options={"code_size": 8, "locale": "en-GB", "method": "message"})

    assert len(code_of(PHONE, PURPOSE)) == 8
    assert Message.objects.get().locale == "en-GB"


@pytest.mark.parametrize(
    ("options", "code", "param"),
    [
        ({"code_size": 3}, "invalid_code_size", "options.code_size"),
        ({"code_size": "6"}, "invalid_code_size", "options.code_size"),
        ({"custom_code": "a b"}, "invalid_custom_code", "options.custom_code"),
        ({"custom_code": "1234", "code_size": 4}, "custom_size_conflict", "options.custom_code"),
        ({"method": "voice"}, "channel_not_enabled_in_region", "options"),
        ({"method": "fax"}, "invalid_request", "options.method"),
        ({"channels": ["rcs"]}, "channel_not_enabled_in_region", "options"),
        ({"channels": []}, "invalid_request", "options.channels"),
        ({"channels": ["max"]}, "invalid_request", "options.channels"),
        ({"channels": ["sms"], "preferred_channel": "sms"}, "invalid_request", "options"),
        ({"sender_id": "Shop"}, "invalid_sender_id", "options.sender_id"),
        ({"callback_url": "https://a.example"}, "invalid_callback_url", "options.callback_url"),
        ({"template_id": "t"}, "invalid_template_id", "options.template_id"),
        ({"variables": {"a": "b"}}, "invalid_template_id", "options.template_id"),
        ({"template_id": "prelude:psd2"}, "invalid_template_variables", "options.variables"),
        ({"app_realm": {"platform": "web"}}, "invalid_app_realm", "options.app_realm"),
        (
            {"app_realm": {"platform": "mac", "value": "x"}},
            "invalid_app_realm_platform",
            "options.app_realm.platform",
        ),
        (
            {"app_realm": {"platform": "web", "value": "a.example"}},
            "invalid_app_realm_value",
            "options.app_realm.value",
        ),
        ([], "invalid_request", "options"),
    ],
)
def test_unsupported_option_is_refused(
    client: DialectClient, options: Any, code: str, param: str
) -> None:
    response = send(client, options=options)

    assert (*refusal(response), response.body["param"]) == (400, code, param)
    assert response.body.keys() == {"code", "message", "type", "param", "request_id"}
    assert Message.objects.count() == 0


def test_custom_code_is_sent_checked_and_reported(client: DialectClient) -> None:
    send(client, options={"custom_code": "AB12CD"})
    entered = check(client, "AB12CD")
    send(client, "+79161234568", options={"custom_code": "777777"})
    feedback = target("+79161234568") | {"type": "verification.completed"}

    reported = client.json("/v2/watch/feedback", {"feedbacks": [feedback]})

    assert (entered.body["status"], reported.body["status"]) == ("success", "success")
    assert Verification.objects.filter(is_custom=True, verified_at=None).count() == 0


def test_second_custom_code_during_the_cool_down_is_refused(client: DialectClient) -> None:
    """A retry would claim that this code is under way."""
    send(client, options={"custom_code": "777777"})

    same, other = (send(client, options={"custom_code": code}) for code in ("777777", "777778"))

    assert (same.status, refusal(other)) == (200, (429, "too_many_attempts"))
    assert Message.objects.count() == 1


def test_custom_code_is_sent_again_after_the_cool_down(client: DialectClient) -> None:
    first = send(client, options={"custom_code": "777777"})
    age_rows(seconds=65)

    again = send(client, options={"custom_code": "777777"})

    assert (again.body["status"], again.body["id"]) == ("retry", first.body["id"])
    assert Message.objects.count() == 2


def test_feedback_finds_the_verification_by_its_correlation_id(client: DialectClient) -> None:
    metadata = {"metadata": {"correlation_id": "order-7"}}
    client.json("/v2/verification", target() | metadata | {"options": {"custom_code": "777777"}})
    age_rows(seconds=settings.CODE_LIFETIME + 1)
    client.json("/v2/verification", target() | {"options": {"custom_code": "888888"}})
    first, second = Verification.objects.order_by("id")
    completed = target() | {"type": "verification.completed"} | metadata
    started = target() | {"type": "verification.started"} | metadata

    for feedback, is_entered in ((started, False), (completed, True)):
        client.json("/v2/watch/feedback", {"feedbacks": [feedback]})
        first.refresh_from_db()
        assert (first.verified_at is not None) is is_entered
    second.refresh_from_db()
    assert second.verified_at is None


def test_feedback_without_an_id_is_about_the_newest_code(client: DialectClient) -> None:
    """The client's own code may live longer than ours, and a lost report counts against it."""
    send(client, options={"custom_code": "777777"})
    age_rows(seconds=settings.CODE_LIFETIME + 1)

    feedback = target() | {"type": "verification.completed"}
    client.json("/v2/watch/feedback", {"feedbacks": [feedback]})

    assert Verification.objects.get().verified_at is not None


def test_feedback_enters_no_code_that_is_checked_here(client: DialectClient) -> None:
    send(client)
    feedback = target() | {"type": "verification.completed"}

    assert client.json("/v2/watch/feedback", {"feedbacks": [feedback] * 100}).status == 200
    assert Verification.objects.get().verified_at is None
    refused = client.json("/v2/watch/feedback", {"feedbacks": [feedback] * 101})
    assert (*refusal(refused), refused.body["param"]) == (400, "invalid_request", "feedbacks")


def test_many_feedbacks_wait_for_their_turn_and_few_do_not(client: DialectClient) -> None:
    feedback = target() | {"type": "verification.completed"}
    with REPORTING.turn(None):
        busy = client.json("/v2/watch/feedback", {"feedbacks": [feedback] * (FEW + 1)})
        few = client.json("/v2/watch/feedback", {"feedbacks": [feedback] * FEW})

    assert (refusal(busy), busy.headers["x-should-retry"]) == ((503, "internal"), "true")
    assert few.status == 200
    assert client.json("/v2/watch/feedback", {"feedbacks": [feedback] * (FEW + 1)}).status == 200


def test_app_realm_of_the_company_is_kept(client: DialectClient, company: Company) -> None:
    Autofill.objects.create(company=company, webotp_host="shop.example", app_hash="FA+9qCX9VSu")
    api_keys.clear_cache()

    for realm in (("web", "shop.example"), ("android", "FA+9qCX9VSu")):
        options = {"app_realm": dict(zip(("platform", "value"), realm, strict=True))}
        assert send(client, options=options).status == 200


def test_payment_is_bound_to_its_code(client: DialectClient) -> None:
    options = {"template_id": "prelude:psd2", "variables": PAYMENT}
    send(client, options=options)
    code = code_of(PHONE, PURPOSE)

    missing = check(client, code)
    mismatch = check(client, code, psd2=PAYMENT | {"amount": "12.35"})
    right = check(client, code, psd2=PAYMENT)

    assert [response.body["status"] for response in (missing, mismatch, right)] == [
        "transaction_missing",
        "transaction_mismatch",
        "success",
    ]


def test_another_payment_within_the_pause_is_refused(client: DialectClient) -> None:
    """The person has the code of the first one, which is wrong with the second."""
    options = {"template_id": "prelude:psd2", "variables": PAYMENT}
    send(client, options=options)

    repeated = send(client, options=options)
    other = send(client, options=options | {"variables": PAYMENT | {"amount": "12.35"}})

    assert repeated.body["status"] == "retry"
    assert refusal(other) == refusal(send(client)) == (429, "too_many_attempts")


def test_payment_of_an_unbound_code_is_ignored(client: DialectClient) -> None:
    send(client)

    assert check(client, code_of(PHONE, PURPOSE), psd2=PAYMENT).body["status"] == "success"


@pytest.mark.parametrize("odd", [*ODD, {}])
def test_odd_options_are_refused_or_ignored(client: DialectClient, odd: Any) -> None:
    names = (
        "channels",
        "preferred_channel",
        "locale",
        "code_size",
        "custom_code",
        "app_realm",
        "variables",
        "max_auto_fallbacks",
        "force_challenge",
        "template_id",
    )

    assert {send(client, options={name: odd}).status for name in names} <= {200, 400}
