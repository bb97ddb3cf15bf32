"""The options of one send: order, patience, length, life, text, binding, reference, metadata."""

import time
from functools import partial
from typing import Any

import orjson
import pytest

from billing.wallet import ledger
from channels import reconciliation
from channels.deliver import sweeps
from channels.models import Message
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.channels.fallback_stages import enable_fallback
from tests.channels.message_stages import claim
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, wrong_code
from tests.otp.verifying import sent, verify

pytestmark = pytest.mark.django_db(transaction=True)
PHONE = "+79161234567"
PAYMENT = {"amount": "100.50", "currency": "RUB", "payee": "Shop LLC"}
HASH = "9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08"
DOCUMENT = {"document": HASH, "title": "Contract"}


def post(api: Api, **fields: Any) -> ApiResponse:
    forget_limits()
    return api.post("/otp/send", {"phone": PHONE} | fields)


def message_of(api: Api, **fields: Any) -> Message:
    response = post(api, **fields)
    assert response.status == 200, response.body
    return Message.objects.get(pk=Message.objects.order_by("created_at").last().pk)  # type: ignore[union-attr]


def text_of(test_api: Api, **fields: Any) -> str:
    response = test_api.post("/otp/send", {"phone": "+79990000000"} | fields)
    assert response.status == 200, response.body
    return str(test_api.get("/test/messages").body["data"][0]["text"])


def test_channels_are_tried_in_the_order_of_the_request(api: Api) -> None:
    message = message_of(api, channels=["telegram", "sms", "whatsapp"], patience=17)

    steps = [(step["channel"], step["patience"]) for step in message.chain]
    assert (message.channel, steps) == ("telegram", [("sms", 17.0), ("whatsapp", 17.0)])
    assert message.fallback_at is not None
    assert (message.fallback_at - message.created_at).total_seconds() == pytest.approx(17, abs=1)


def test_single_channel_has_no_fallback(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")

    message = message_of(api, channels=["whatsapp"])

    assert (message.channel, message.chain) == ("whatsapp", [])


def test_patience_alone_keeps_the_order_of_the_company(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")

    message = message_of(api, patience=99)

    assert [(step["channel"], step["patience"]) for step in message.chain] == [("sms", 99.0)]
    assert message.fallback_at is not None
    assert (message.fallback_at - message.created_at).total_seconds() == pytest.approx(99, abs=1)


def test_barred_channels_stay_barred(api: Api) -> None:
    rules = [{"country": "RU", "barred": ["telegram"], "max_cost": 10}]
    put_policy(api, rules)

    message = message_of(api, channels=["telegram", "sms", "whatsapp"])

    assert (message.channel, message.chain) == ("whatsapp", [])
    assert post(api, channels=["telegram"]).code == "channel_unavailable"
    assert post(api, channels=["sms"]).code == "channel_unavailable"


def put_policy(api: Api, rules: list[dict[str, Any]]) -> None:
    response = api.call("PUT", "/policy", orjson.dumps({"rules": rules}))
    assert response.status == 200, response.body


WRONG: list[tuple[dict[str, Any], str]] = [
    ({"channels": ["sms"], "channel": "sms"}, "channels"),
    ({"channels": ["sms", "sms"]}, "channels"),
    ({"channels": ["pigeon"]}, "channels"),
    ({"channels": []}, "channels"),
    ({"channels": [{"sms": 1}]}, "channels"),
    ({"patience": "30"}, "patience"),
    ({"expires_in": True}, "expires_in"),
    ({"text": "no code"}, "text"),
    ({"text": ":code and :code"}, "text"),
    ({"text": "visit evil.example :code"}, "text"),
    ({"text": "call 88005553535 :code"}, "text"),
    ({"text": "x" * 501 + " :code"}, "text"),
    ({"text": ":code\n{link}"}, "text"),
    ({"text": ":code", "link": "https://example.com/"}, "text"),
    ({"bind": PAYMENT, "link": "https://example.com/"}, "bind"),
    ({"bind": {}}, "bind"),
    ({"bind": {"amount": "1"}}, "bind"),
    ({"bind": {"amount": 1, "payee": "x"}}, "bind"),
    ({"bind": {"amount": ["1"], "payee": {}}}, "bind"),
    ({"bind": {"document": [HASH]}}, "bind"),
    ({"bind": {"amount": "many", "payee": "x"}}, "bind"),
    ({"bind": PAYMENT | {"currency": "rubles"}}, "bind"),
    ({"bind": PAYMENT | {"document": HASH}}, "bind"),
    ({"bind": PAYMENT | {"payee": "{code}"}}, "bind"),
    ({"bind": PAYMENT | {"payee": "evil.example"}}, "bind"),
    ({"bind": PAYMENT | {"payee": "bank💳.ws"}}, "bind"),
    ({"bind": PAYMENT | {"payee": "1.1.1.1/a"}}, "bind"),
    ({"bind": PAYMENT | {"amount": "8 800 555-35-35"}}, "bind"),
    ({"bind": PAYMENT | {"amount": "8 800 555 35 35"}}, "bind"),
    ({"bind": PAYMENT | {"amount": "-1"}}, "bind"),
    ({"bind": PAYMENT | {"amount": "$ -1.50"}}, "bind"),
    ({"bind": PAYMENT | {"amount": "- €1"}}, "bind"),
    ({"bind": PAYMENT | {"payee": "a\nb"}}, "bind"),
    ({"bind": PAYMENT | {"payee": " "}}, "bind"),
    ({"bind": {"document": "abc"}}, "bind"),
    ({"bind": DOCUMENT | {"note": "x"}}, "bind"),
    ({"reference": "a\nb"}, "reference"),
    ({"metadata": {str(n): "x" for n in range(11)}}, "metadata"),
    ({"metadata": {"k" * 41: "x"}}, "metadata"),
    ({"metadata": {"": "x"}}, "metadata"),
    ({"metadata": {"k": "x" * 201}}, "metadata"),
    ({"metadata": {"k": 1}}, "metadata"),
    ({"metadata": {"k": "\u0000"}}, "metadata"),
]


def test_wrong_options_are_refused_before_anything(api: Api) -> None:
    for fields, faulty in WRONG:
        response = post(api, **fields)

        refusal = (response.code, list(response.body.get("errors", ())))
        assert refusal == ("invalid_input", [faulty]), fields
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_oversized_binding_costs_no_more_than_longest_allowed(
    test_api: Api,
) -> None:
    """With a test key, which anybody gets, 12,000 octets took 12 s and the lock of Python."""
    started = time.process_time()

    responses = [
        post(test_api, bind=PAYMENT | {"payee": "㌖" * 20_000}),
        post(test_api, bind=DOCUMENT | {"title": "a" * 60_000}),
    ]

    assert [response.code for response in responses] == ["invalid_input", "invalid_input"]
    assert time.process_time() - started < 0.5


def test_code_has_the_length_of_the_request(api: Api) -> None:
    public_id = sent(api, code_length=8)

    assert len(code_of(PHONE)) == 8
    assert verify(api, public_id, code_of(PHONE)).status == 200


def test_another_length_makes_a_new_code(api: Api) -> None:
    first = sent(api, code_length=4)

    assert sent(api) == sent(api, code_length=4) == first
    assert sent(api, code_length=5) != first


def test_code_lives_as_long_as_the_request_says(api: Api) -> None:
    response = post(api, expires_in=900)
    code = code_of(PHONE)
    message = Message.objects.get()

    assert response.body["expires_in"] == 900
    assert message.useful_until <= message.deadline
    age_rows(seconds=890)
    assert verify(api, response.body["verification"], code).status == 200


def test_code_with_a_short_life_expires(api: Api) -> None:
    public_id = sent(api, expires_in=60)
    code = code_of(PHONE)
    assert sent(api, expires_in=900) == public_id
    assert Verification.objects.get().expires_at == Message.objects.latest("id").useful_until
    age_rows(seconds=61)

    assert verify(api, public_id, code).code == "code_expired"


@pytest.mark.parametrize("again", [{}, {"channel": "sms"}])
def test_every_message_of_a_long_life_waits_until_then(api: Api, again: dict[str, str]) -> None:
    post(api, expires_in=900)
    age_rows(seconds=100)

    post(api, **again)

    first, second = Message.objects.order_by("id")
    assert second.useful_until == Verification.objects.get().expires_at <= second.deadline
    assert first.deadline <= second.deadline


def test_message_of_a_long_life_waits_for_its_receipt_until_then(api: Api) -> None:
    post(api, expires_in=900)
    age_rows(seconds=700)

    sweeps.sweep()

    assert Message.objects.get().state == "queued"


def test_text_of_the_request_is_sent(test_api: Api) -> None:
    text = text_of(test_api, text="Вход: :code", channel="sms")

    assert text == f"Вход: {code_of('+79990000000', mode='test')}"


def test_text_is_sent_only_by_channels_that_show_it(api: Api) -> None:
    enable_fallback(api.company, "whatsapp", "sms")

    message = message_of(api, text="Вход: :code")

    assert (message.channel, message.chain, message.content) == ("sms", [], "code_with_text")
    assert [claimed.channel for claimed in claim()] == ["sms"]
    assert post(api, text=":code", channel="whatsapp").code == "channel_unavailable"
    assert post(api, text=":code", channels=["whatsapp"]).code == "channel_unavailable"


def test_text_too_long_for_sms_is_refused(api: Api) -> None:
    response = post(api, text="я" * 300 + " :code", channel="sms")

    assert (response.code, list(response.body["errors"])) == ("invalid_input", ["text"])


def test_binding_is_below_the_text(test_api: Api) -> None:
    text = text_of(test_api, bind=PAYMENT, channel="sms")

    assert text.split("\n")[-1] == "100.50 RUB → Shop LLC"
    assert code_of("+79990000000", mode="test") in text.split("\n")[0]


def test_hash_of_a_document_is_shown_with_its_title(test_api: Api) -> None:
    text = text_of(test_api, bind=DOCUMENT | {"document": HASH.upper()}, channel="sms")

    assert text.endswith(f"\nContract, SHA-256: {HASH[:16]}…")


@pytest.mark.parametrize("by", ["id", "phone"])
@pytest.mark.parametrize(
    "other",
    [None, PAYMENT | {"amount": "100.5"}, PAYMENT | {"payee": "Thief"}, DOCUMENT],
)
def test_bound_code_is_right_only_with_its_binding(
    api: Api, by: str, other: dict[str, str] | None
) -> None:
    public_id = sent(api, bind=PAYMENT)
    which = {"id": public_id} if by == "id" else {"phone": PHONE}

    def guess(code: str, bind: Any) -> ApiResponse:
        return api.post("/otp/verify", which | {"code": code, "bind": bind})

    refusals = [guess(code, other) for code in (code_of(PHONE), wrong_code(PHONE))]

    assert [response.code for response in refusals] == ["binding_mismatch"] * 2
    same = [response.body | {"request_id": ""} for response in refusals]
    assert same[0] == same[1]
    assert Verification.objects.get().attempts == 0
    shuffled = {name: PAYMENT[name] for name in ("payee", "currency", "amount")}
    assert guess(code_of(PHONE), shuffled).status == 200


def test_mismatches_are_limited_as_other_refusals(api: Api) -> None:
    public_id = sent(api, bind=PAYMENT)

    responses = [verify(api, public_id, "123456") for _ in range(30)]

    assert responses[-1].code == "too_many_attempts"
    assert verify(api, public_id, code_of(PHONE), bind=PAYMENT).status == 200


def test_unbound_code_fails_with_binding(api: Api) -> None:
    public_id = sent(api)

    assert verify(api, public_id, code_of(PHONE), bind=PAYMENT).code == "binding_mismatch"
    assert verify(api, public_id, code_of(PHONE)).status == 200


def test_another_binding_makes_a_new_code(api: Api) -> None:
    first = sent(api, bind=PAYMENT)

    assert sent(api, bind=dict(reversed(PAYMENT.items()))) == first
    second = sent(api, bind=PAYMENT | {"amount": "9.99"})
    third = sent(api)
    assert len({first, second, third}) == 3
    assert verify(api, first, "123456", bind=PAYMENT).code == "code_expired"


def test_resends_with_different_options_at_once_leave_one_live_code(client_of: ClientOf) -> None:
    company = CompanyFactory.create(cool_down=1)
    ledger.grant(company=company, amount=1000, reason="test")
    api = client_of(company, "test")
    phone = "+79990000000"
    sends: list[dict[str, Any]] = [
        {"bind": PAYMENT},
        {"code_length": 8},
        {},
        {"bind": DOCUMENT},
    ]

    responses = at_once([partial(api.post, "/otp/send", {"phone": phone} | send) for send in sends])

    assert [response.status for response in responses] == [200] * 4
    live = Verification.objects.get(superseded_at=None)
    by_id = {
        response.body["verification"]: send for response, send in zip(responses, sends, strict=True)
    }
    expected = by_id[live.public_id]
    assert live.binding == expected.get("bind")
    assert list(reconciliation.breaches()) == []


def test_reference_and_metadata_are_shown_and_searched(api: Api) -> None:
    fields: dict[str, Any] = {
        "reference": "order 7",
        "metadata": {"shop": "Арбат", "lines": "a\nb"},
    }
    public_id = sent(api, **fields)
    sent(api, "+79161234568", reference="order 8")

    result = api.get(f"/otp/{public_id}").body
    listed = api.get("/messages", {"reference": "order 7"}).body["data"]
    by_reference = api.get("/otp", {"reference": "order 7"}).body["data"]

    assert {name: result[name] for name in fields} == fields
    assert [{name: row[name] for name in fields} for row in listed] == [fields]
    assert [row["id"] for row in by_reference] == [public_id]
    assert api.get("/messages", {"reference": "order"}).body["data"] == []


def test_verification_shows_the_reference_of_its_newest_message(api: Api) -> None:
    public_id = sent(api, reference="one")
    sent(api, reference="two")

    assert api.get(f"/otp/{public_id}").body["reference"] == "two"
    for reference in ("one", "two"):
        listed = api.get("/otp", {"reference": reference}).body["data"]
        assert [row["id"] for row in listed] == [public_id]


@pytest.mark.parametrize("options", [{"bind": PAYMENT}, {"text": "Вход: :code"}])
def test_next_channel_keeps_the_text_and_the_binding(api: Api, options: dict[str, Any]) -> None:
    public_id = sent(api, channel="sms", metadata={"shop": "A"}, **options)

    response = api.post(f"/otp/{public_id}/next")

    assert (response.status, response.body["verification"]) == (200, public_id)
    first, second = Message.objects.order_by("id")
    assert second.content == first.content == "code_with_text"
    assert second.params["metadata"] == {"shop": "A"}
    assert (
        next(iter(second.params["texts"].values())).split("\n")[-1]
        == (next(iter(first.params["texts"].values())).split("\n")[-1])
    )
