"""Idempotency-Key: a repeated call has one effect and one response."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from typing import Any

import orjson
import pytest
from django.db import transaction
from django.utils import timezone

from accounts.models import Company
from api import idempotency
from api.models import IdempotentRequest
from billing.wallet import ledger
from channels.deliver.dispatcher import Dispatcher
from channels.models import Message
from channels.web.status_texts import status_text
from links.models import Link
from otp.models import Verification
from tests.api.blocking import start_blocked
from tests.api.books import books
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.factories import CompanyFactory, LinkFactory
from tests.otp.sent_codes import age_rows, code_of, wrong_code

PHONE = "+79161234567"
URL = "https://example.com/"
CALLS: dict[str, dict[str, Any]] = {
    "/otp/send": {"phone": PHONE, "link": URL},
    "/links/send": {"phone": PHONE, "url": URL},
    "/links/shorten": {"url": URL, "expires_in": 600},
}


def is_replay_of(response: ApiResponse, first: ApiResponse) -> bool:
    return (
        response.headers.get("Idempotent-Replayed") == "true"
        and (response.status, response.raw) == (first.status, first.raw)
        and response.headers["X-Request-Id"] != first.headers["X-Request-Id"]
    )


@pytest.mark.parametrize("path", CALLS)
def test_repeat_is_answered_byte_for_byte_and_does_nothing(api: Api, path: str) -> None:
    first = api.post(path, CALLS[path], Idempotency_Key="k")
    before = books()

    second = api.post(path, CALLS[path], Idempotency_Key="k", Accept_Language="en")
    third = api.post(path + "/", CALLS[path], Idempotency_Key="k")

    assert first.status == 200
    assert "Idempotent-Replayed" not in first.headers
    assert is_replay_of(second, first)
    assert is_replay_of(third, first)
    assert books() == before


@pytest.mark.parametrize("path", CALLS)
def test_order_and_spacing_of_the_json_do_not_matter(api: Api, path: str) -> None:
    first = api.post(path, CALLS[path] | {"x": {"a": 1, "b": 2}}, Idempotency_Key="k")
    turned = dict(reversed(CALLS[path].items()))
    body = str({"x": {"b": 2, "a": 1}} | turned).replace("'", '"').encode()

    again = api.call("POST", path, b"\n " + body + b" ", Idempotency_Key="k")

    assert is_replay_of(again, first)


@pytest.mark.parametrize("path", CALLS)
def test_another_request_under_the_key_is_a_mismatch(api: Api, path: str) -> None:
    api.post(path, CALLS[path], Idempotency_Key="k")
    before = books()

    response = api.post(path, CALLS[path] | {"x": 1}, Idempotency_Key="k")

    assert (response.status, response.code) == (422, "idempotency_mismatch")
    assert books() == before


def test_key_belongs_to_a_company_a_mode_and_a_path(
    api: Api, test_api: Api, client_of: ClientOf
) -> None:
    stranger = client_of(CompanyFactory.create())
    ledger.grant(company=stranger.company, amount=10, reason="test")
    first = api.post("/links/shorten", {"url": URL}, Idempotency_Key="k")

    others = [
        stranger.post("/links/shorten", {"url": URL}, Idempotency_Key="k"),
        test_api.post("/links/shorten", {"url": URL}, Idempotency_Key="k"),
        api.post("/links/send", {"url": URL, "phone": PHONE}, Idempotency_Key="k"),
        api.post("/links/shorten", {"url": URL}, Idempotency_Key="K"),
        api.post("/links/shorten", {"url": URL}),
    ]

    assert [response.status for response in others] == [200] * 5
    assert len({response.body["short_url"] for response in [first, *others]}) == 6


def test_second_key_of_the_company_replays_too(api: Api, client_of: ClientOf) -> None:
    first = api.post("/links/shorten", {"url": URL}, Idempotency_Key="k")

    again = client_of(api.company).post("/links/shorten", {"url": URL}, Idempotency_Key="k")

    assert is_replay_of(again, first)


@pytest.mark.parametrize("path", CALLS)
def test_key_is_new_after_a_day(api: Api, path: str) -> None:
    first = api.post(path, CALLS[path], Idempotency_Key="k")
    age_rows(hours=23, minutes=59)
    assert is_replay_of(api.post(path, CALLS[path], Idempotency_Key="k"), first)
    age_rows(minutes=2)

    again = api.post(path, CALLS[path] | {"x": "new"}, Idempotency_Key="k")

    assert again.status == 200
    assert "Idempotent-Replayed" not in again.headers
    assert again.body["id"] != first.body["id"]
    assert IdempotentRequest.objects.count() == 1


def test_refusals_before_the_effect_are_not_stored(api: Api) -> None:
    ledger.withdraw(company=api.company, amount=1000, reason="test")
    payload = {"phone": PHONE}

    assert api.post("/otp/send", {}, Idempotency_Key="k").code == "invalid_input"
    assert api.post("/otp/send", {"phone": "1"}, Idempotency_Key="k").status == 422
    assert api.post("/otp/send", payload, Idempotency_Key="k").status == 402
    assert Api(api.company, "junk").post("/otp/send", payload, Idempotency_Key="k").status == 401
    ledger.grant(company=api.company, amount=1, reason="test")
    assert api.post("/otp/send", payload, Idempotency_Key="k").status == 200

    again = api.post("/otp/send", {"phone": PHONE, "purpose": "x"}, Idempotency_Key="k2")
    assert again.code == "resend_too_soon"
    assert list(IdempotentRequest.objects.values_list("key", "status")) == [("k", 200)]


def test_field_error_within_the_effect_is_not_stored(api: Api) -> None:
    payload = {"url": "https://example.com/hook"}
    endpoint = api.post("/webhooks", payload).body["id"]

    refused = api.post("/webhooks", payload, Idempotency_Key="k")
    api.call("DELETE", f"/webhooks/{endpoint}")

    assert (refused.code, list(refused.body["errors"])) == ("invalid_input", ["url"])
    assert api.post("/webhooks", payload, Idempotency_Key="k").status == 200


def test_replay_precedes_limits_and_balance(api: Api) -> None:
    first = api.post("/otp/send", {"phone": PHONE}, Idempotency_Key="k")
    ledger.withdraw(company=api.company, amount=999, reason="test")

    for _ in range(20):
        assert is_replay_of(api.post("/otp/send", {"phone": PHONE}, Idempotency_Key="k"), first)


def test_alias_conflict_is_stored_and_replayed(api: Api) -> None:
    taken = LinkFactory.create(slug="sale", key="sale", is_alias=True)
    payload = {"url": URL, "alias": "sale"}
    first = api.post("/links/shorten", payload, Idempotency_Key="k")
    taken.delete()

    again = api.post("/links/shorten", payload, Idempotency_Key="k")

    assert (first.status, first.code) == (422, "alias_taken")
    assert is_replay_of(again, first)
    assert not Link.objects.exists()


@pytest.mark.parametrize(
    ("digits", "status", "code"),
    [("0003", 422, "recipient_unreachable"), ("0008", 502, "delivery_failed")],
)
def test_refusal_after_the_effect_is_stored(
    dispatcher: Dispatcher, test_api: Api, digits: str, status: int, code: str
) -> None:
    payload = {"phone": f"+7916123{digits}"}

    first = test_api.post("/otp/send", payload, Idempotency_Key="k")
    again = test_api.post("/otp/send", payload, Idempotency_Key="k")

    assert (first.status, first.code) == (status, code)
    assert is_replay_of(again, first)
    assert Message.objects.count() == 1


def test_lost_response_to_a_correct_code_is_replayed(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})
    payload = {"phone": PHONE, "code": code_of(PHONE)}

    first = api.post("/otp/verify", payload, Idempotency_Key="k")
    again = api.post("/otp/verify", payload, Idempotency_Key="k")
    without_key = api.post("/otp/verify", payload)

    assert first.status == 200
    assert is_replay_of(again, first)
    assert without_key.code == "code_used"


def test_wrong_code_under_a_key_spends_one_attempt(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})
    payload = {"phone": PHONE, "code": wrong_code(PHONE)}

    first = api.post("/otp/verify", payload, Idempotency_Key="k")
    again = [api.post("/otp/verify", payload, Idempotency_Key="k") for _ in range(9)]

    assert (first.code, first.body["attempts_left"]) == ("code_invalid", 4)
    assert all(is_replay_of(response, first) for response in again)
    assert Verification.objects.get().attempts == 1


def test_first_stored_response_wins(company: Company) -> None:
    idempotency_key = idempotency.IdempotencyKey(company.pk, "live", "/otp/send", "k", b"hash")
    idempotency.insert(idempotency_key)

    assert idempotency.store_response(idempotency_key, 200, "first") == idempotency.StoredResponse(
        200, "first"
    )
    assert idempotency.store_response(idempotency_key, 502, "second") == idempotency.StoredResponse(
        200, "first"
    )
    assert idempotency.find_response(idempotency_key) == idempotency.StoredResponse(200, "first")


def test_stored_responses_hold_no_codes(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE}, Idempotency_Key="k")
    code = code_of(PHONE)
    api.post("/otp/verify", {"phone": PHONE, "code": code}, Idempotency_Key="k")

    for row in IdempotentRequest.objects.all():
        assert code not in f"{row.body}"
        assert code.encode() not in bytes(row.request_hash)


def _die(path: str, state: str, age: float, **fields: Any) -> None:
    """Leaves the state of a process that died after its commit, `age` seconds ago."""
    IdempotentRequest.objects.update(status=None, body=None)
    at = timezone.now() - timedelta(seconds=age)
    Message.objects.update(state=state, created_at=at, **fields)


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_crashed_request_counts_as_running_while_its_message_is_recent(api: Api, path: str) -> None:
    api.post(path, CALLS[path], Idempotency_Key="k")
    _die(path, "queued", age=9)

    response = api.post(path, CALLS[path], Idempotency_Key="k")

    assert (response.status, response.code) == (409, "request_in_progress")
    assert response.headers["Retry-After"] == "1"
    assert Message.objects.count() == 1


@pytest.mark.parametrize(("state", "age"), [("queued", 11), ("sent", 0), ("delivered", 0)])
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_response_of_a_crashed_request_is_rebuilt(
    api: Api, path: str, state: str, age: float
) -> None:
    first = api.post(path, CALLS[path], Idempotency_Key="k")
    _die(path, state, age)
    before = books()

    rebuilt = api.post(path, CALLS[path], Idempotency_Key="k")
    again = api.post(path, CALLS[path], Idempotency_Key="k")

    kind = "code" if path == "/otp/send" else "link"
    text = str(status_text(kind, "whatsapp", state))
    assert rebuilt.body == first.body | {"status": state, "message": text}
    assert list(rebuilt.body) == list(first.body)
    assert rebuilt.headers["Idempotent-Replayed"] == "true"
    assert is_replay_of(again, rebuilt)
    assert books() == before


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
@pytest.mark.parametrize(
    ("state", "error", "status", "code"),
    [
        ("failed", "recipient_unreachable", 422, "recipient_unreachable"),
        ("failed", "delivery_failed", 502, "delivery_failed"),
        ("expired", "", 502, "delivery_failed"),
    ],
)
def test_refusal_of_a_crashed_request_is_rebuilt(
    api: Api, *, path: str, state: str, error: str, status: int, code: str
) -> None:
    first = api.post(path, CALLS[path], Idempotency_Key="k")
    _die(path, state, 0, error=error)

    rebuilt = api.post(path, CALLS[path], Idempotency_Key="k")
    again = api.post(path, CALLS[path], Idempotency_Key="k")

    assert (rebuilt.status, rebuilt.code) == (status, code)
    assert rebuilt.body["id"] == first.body["id"]
    assert is_replay_of(again, rebuilt)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_key_and_effect_are_one_commit(api: Api, path: str) -> None:
    """The lookup misses an uncommitted duplicate; only the unique index sees it."""
    canonical = orjson.dumps(CALLS[path], option=orjson.OPT_SORT_KEYS)
    digest = hashlib.sha256(canonical).digest()
    duplicate = idempotency.IdempotencyKey(api.company.pk, "live", path, "k", digest)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            idempotency.insert(duplicate)
            late = start_blocked(pool, lambda: api.post(path, CALLS[path], Idempotency_Key="k"))
        response = late.result()

    assert (response.status, response.code) == (409, "request_in_progress")
    assert Message.objects.count() == Link.objects.count() == 0
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_unstored_refusal_leaves_no_idempotency_key(api: Api) -> None:
    """The key is written before the effect, and rolled back with it."""
    api.post("/otp/send", {"phone": PHONE})
    guess = {"phone": PHONE, "code": wrong_code(PHONE)}
    for _ in range(5):
        api.post("/otp/verify", guess)

    responses = [api.post("/otp/verify", guess, Idempotency_Key="k") for _ in range(2)]

    assert [response.code for response in responses] == ["too_many_attempts"] * 2
    assert not IdempotentRequest.objects.exists()
