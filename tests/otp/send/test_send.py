"""Sending a code: its answer, message, price and code."""

from datetime import timedelta

import pytest
from django.utils import timezone
from pytest_django import DjangoAssertNumQueries, Settings

from accounts.models import Company, Mode
from billing.models import Transfer
from billing.wallet import ledger
from channels.models import Message
from links.models import Link
from otp.models import Verification
from tests.api.clients import Api, ApiResponse
from tests.otp.sent_codes import age_rows, code_of, forget_limits, verification_of, wrong_code

PHONE = "+79161234567"


def send(api: Api, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": PHONE} | fields)


def test_send_responds_with_all_fields(api: Api) -> None:
    response = send(api)

    message = Message.objects.get()
    assert response.status == 200
    assert response.body == {
        "success": True,
        "message": "Код поставлен в очередь: WhatsApp",
        "id": message.public_id,
        "verification": Verification.objects.get().public_id,
        "phone": PHONE,
        "channel": "whatsapp",
        "locale": "ru",
        "status": "queued",
        "cost": 1,
        "expires_in": 300,
        "resend_in": 60,
        "attempts_left": 5,
        "test": False,
    }


@pytest.mark.parametrize(
    ("channel", "cost", "ru", "en"),
    [
        ("whatsapp", 1, "Код поставлен в очередь: WhatsApp", "The code is queued: WhatsApp"),
        ("telegram", 1, "Код поставлен в очередь: Telegram", "The code is queued: Telegram"),
        ("sms", 16, "Код поставлен в очередь: SMS", "The code is queued: SMS"),
    ],
)
def test_channel_is_named_and_priced(api: Api, channel: str, cost: int, ru: str, en: str) -> None:
    russian = send(api, channel=channel)
    english = api.post(
        "/otp/send", {"phone": "+79161234568", "channel": channel}, Accept_Language="en"
    )

    assert [russian.body["message"], english.body["message"]] == [ru, en]
    assert [russian.body["channel"], russian.body["cost"]] == [channel, cost]
    assert ledger.balance(api.company.pk) == (1000 - 2 * cost, 2 * cost)


def test_message_carries_no_code(api: Api) -> None:
    send(api)

    message = Message.objects.values().get()
    code = code_of(PHONE)
    assert message["params"] == {"brand": "Ромашка", "key": "1", "length": 6, "minutes": 5}
    assert code not in f"{message['params']}{message['phone']}{message['error']}"
    assert code.encode() not in bytes(Verification.objects.get().mac)


def test_link_travels_with_the_code(api: Api) -> None:
    response = send(api, link="https://example.com/a", link_expires_in=3600)

    link = Link.objects.get()
    assert response.body["short_url"] == link.short_url
    assert len(link.slug) == 10
    assert link.url == "https://example.com/a"
    assert link.expires_at is not None
    assert abs(link.expires_at - timezone.now() - timedelta(hours=1)) < timedelta(minutes=1)
    assert Message.objects.get().params["short_url"] == link.short_url


def test_company_decides_length_brand_language_and_channel(api: Api) -> None:
    Company.objects.update(code_length=8, brand="Лютик", language="en", default_channel="telegram")

    response = send(api)

    message = Message.objects.get()
    assert len(code_of(PHONE)) == 8
    assert (response.body["channel"], message.locale) == ("telegram", "en")
    assert message.params["brand"] == "Лютик"


def test_resend_repeats_the_code_its_expiry_and_its_attempts(api: Api) -> None:
    send(api)
    code = code_of(PHONE)
    verification = verification_of(PHONE)
    api.post("/otp/verify", {"phone": PHONE, "code": wrong_code(PHONE)})
    age_rows(seconds=100)

    response = send(api, channel="sms")

    assert Verification.objects.count() == 1
    assert code_of(PHONE) == code
    assert (response.body["expires_in"], response.body["attempts_left"]) == (200, 4)
    assert set(Message.objects.values_list("subject_id", flat=True)) == {verification.id}
    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


@pytest.mark.parametrize(("passed", "left"), [(99.5, 201), (99.999, 201), (100.0, 200), (-1, 300)])
def test_seconds_left_are_rounded_up_and_never_more_than_promised(
    api: Api, passed: float, left: int
) -> None:
    send(api)
    age_rows(seconds=passed)

    assert send(api).body["expires_in"] == left


@pytest.mark.parametrize(("left", "is_resent"), [(61, True), (59, False)])
def test_code_with_less_than_a_minute_left_is_superseded(
    api: Api, left: int, is_resent: bool
) -> None:
    send(api)
    first = verification_of(PHONE)
    old = code_of(PHONE)
    age_rows(seconds=300 - left)

    response = send(api)

    assert (verification_of(PHONE).id == first.id) is is_resent
    assert response.body["expires_in"] == (left if is_resent else 300)
    if not is_resent:
        first.refresh_from_db()
        assert first.superseded_at is not None
        refused = api.post("/otp/verify", {"phone": PHONE, "code": old})
        assert (refused.code, refused.body["attempts_left"]) == ("code_invalid", 4)


def test_code_without_attempts_left_is_superseded(api: Api) -> None:
    send(api)
    wrong = wrong_code(PHONE)
    for _ in range(5):
        api.post("/otp/verify", {"phone": PHONE, "code": wrong})
    age_rows(seconds=61)

    response = send(api)

    assert Verification.objects.count() == 2
    assert (response.body["expires_in"], response.body["attempts_left"]) == (300, 5)


def test_used_code_is_superseded(api: Api) -> None:
    send(api)
    old = code_of(PHONE)
    assert api.post("/otp/verify", {"phone": PHONE, "code": old}).status == 200
    age_rows(seconds=61)

    assert send(api).body["expires_in"] == 300

    assert Verification.objects.count() == 2
    assert api.post("/otp/verify", {"phone": PHONE, "code": old}).code == "code_invalid"
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200


def test_each_purpose_has_its_code(api: Api) -> None:
    for purpose in ("one", "two", "One"):
        forget_limits()
        assert send(api, purpose=purpose).status == 200

    assert Verification.objects.filter(superseded_at=None).count() == 3
    assert len({code_of(PHONE, purpose) for purpose in ("one", "two", "One")}) > 1


def test_test_and_live_codes_live_apart(api: Api, test_api: Api) -> None:
    send(api)
    send(test_api)

    live = code_of(PHONE)
    test = code_of(PHONE, mode=Mode.TEST)
    assert live != test
    assert api.post("/otp/verify", {"phone": PHONE, "code": test}).code == "code_invalid"
    assert test_api.post("/otp/verify", {"phone": PHONE, "code": live}).code == "code_invalid"
    assert api.post("/otp/verify", {"phone": PHONE, "code": live}).status == 200
    assert test_api.post("/otp/verify", {"phone": PHONE, "code": test}).status == 200


def test_code_of_a_previous_key_is_still_right(api: Api, settings: Settings) -> None:
    send(api)
    code = code_of(PHONE)
    settings.OTP_KEYS = {"new": b"x" * 32} | settings.OTP_KEYS
    age_rows(seconds=61)

    resent = send(api)

    assert resent.body["expires_in"] == 239
    assert code_of(PHONE) == code
    assert Message.objects.latest("created_at").params["key"] == "1"
    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).status == 200


def test_code_of_a_key_that_is_gone_is_replaced(api: Api, settings: Settings) -> None:
    send(api)
    code = code_of(PHONE)
    settings.OTP_KEYS = {"new": b"x" * 32}
    assert api.post("/otp/verify", {"phone": PHONE, "code": code}).code == "code_invalid"
    age_rows(seconds=61)

    response = send(api)

    assert (response.body["expires_in"], response.body["attempts_left"]) == (300, 5)
    assert verification_of(PHONE).key_id == "new"
    assert api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE)}).status == 200


def test_every_send_holds_its_price(api: Api) -> None:
    send(api)
    age_rows(seconds=61)
    send(api, channel="sms")

    assert ledger.balance(api.company.pk) == (983, 17)
    holds = Transfer.objects.filter(kind="hold").order_by("id")
    messages = Message.objects.order_by("created_at")
    assert [(hold.amount, hold.message_id, hold.hold) for hold in holds] == [
        (message.price, message.id, 1) for message in messages
    ]


def test_test_key_holds_nothing(test_api: Api) -> None:
    ledger.withdraw(company=test_api.company, amount=1000, reason="test")

    response = send(test_api, channel="sms")

    assert (response.status, response.body["cost"], response.body["test"]) == (200, 0, True)
    assert response.body["resend_in"] == 0
    assert ledger.balance(test_api.company.pk) == (0, 0)


@pytest.mark.parametrize("fields", [{}, {"link": "https://example.com/"}])
@pytest.mark.parametrize("headers", [{}, {"Idempotency-Key": "k"}])
def test_send_uses_one_statement(
    api: Api,
    django_assert_num_queries: DjangoAssertNumQueries,
    fields: dict[str, str],
    headers: dict[str, str],
) -> None:
    # the key, the hosts, the blocked sites and the stops are known
    api.post("/otp/send", {"phone": "+79161234568", "link": "https://example.com/"})
    known = 2 if headers else 0  # the lookup, and the answer that is kept

    with django_assert_num_queries(1 + known):
        assert api.post("/otp/send", {"phone": PHONE} | fields, **headers).status == 200


def test_unpaid_send_uses_two_statements(
    api: Api, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    ledger.withdraw(company=api.company, amount=1000, reason="test")
    api.get("/balance")

    with django_assert_num_queries(2):
        assert send(api).status == 402
