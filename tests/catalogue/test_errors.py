"""The error table, and that a test has seen every row of it."""

import pytest
from django.utils import translation

from catalogue.errors import AfterEffectError, DomainError, Error, invalid_input
from tests.api.test_refusals import REFUSALS

PROMISED = {
    "invalid_api_key": 401,
    "insufficient_tokens": 402,
    "forbidden": 403,
    "https_required": 403,
    "not_found": 404,
    "method_not_allowed": 405,
    "request_timeout": 408,
    "request_in_progress": 409,
    "person_busy": 409,
    "unsupported_media_type": 415,
    "invalid_input": 422,
    "invalid_phone": 422,
    "binding_mismatch": 422,
    "country_not_allowed": 422,
    "recipient_unreachable": 422,
    "channel_unavailable": 422,
    "link_not_supported": 422,
    "url_not_allowed": 422,
    "alias_taken": 422,
    "idempotency_mismatch": 422,
    "challenge_required": 422,
    "code_invalid": 422,
    "code_expired": 422,
    "code_used": 422,
    "code_not_found": 422,
    "resend_too_soon": 429,
    "send_limit": 429,
    "too_many_attempts": 429,
    "rate_limited": 429,
    "internal_error": 500,
    "delivery_failed": 502,
    "unavailable": 503,
}
# Produced by their own tests: keys, rate, plain HTTP, slow bodies, outcomes after the effect, a
# database that hangs, proofs of work.
ELSEWHERE = {
    Error.HTTPS_REQUIRED,
    Error.REQUEST_TIMEOUT,
    Error.PERSON_BUSY,
    Error.CHALLENGE_REQUIRED,
    Error.BINDING_MISMATCH,
    Error.INVALID_API_KEY,
    Error.RATE_LIMITED,
    Error.DELIVERY_FAILED,
    Error.UNAVAILABLE,
}


def test_codes_and_statuses_are_the_promised_ones() -> None:
    assert {error.code: error.status for error in Error} == PROMISED


def test_every_error_is_produced_by_a_test() -> None:
    assert {refusal.error for refusal in REFUSALS.values()} | ELSEWHERE == set(Error)


def message_in(language: str, error: Error) -> str:
    with translation.override(language):
        return str(error.message)


@pytest.mark.parametrize("error", Error)
def test_messages_are_russian_and_english(error: Error) -> None:
    russian, english = (message_in(language, error) for language in ("ru", "en"))

    assert any("а" <= letter <= "я" for letter in russian.lower())
    assert english.isascii() or error is Error.INSUFFICIENT_TOKENS
    assert not (russian + english).endswith(".")


def test_lack_of_tokens_is_reported_in_one_language() -> None:
    error = Error.INSUFFICIENT_TOKENS

    assert {message_in(language, error) for language in ("ru", "en")} == {"Недостаточно токенов"}
    assert [other for other in Error if not other.is_translated] == [error]


def test_bare_refusal_has_four_fields() -> None:
    with translation.override("en"):
        body = DomainError(Error.CODE_USED).body(request_id="req_1")

    assert body == {
        "success": False,
        "code": "code_used",
        "message": "The code has already been used",
        "request_id": "req_1",
    }


def test_refusal_has_every_field_it_is_given() -> None:
    refusal = AfterEffectError(
        Error.SEND_LIMIT,
        message=Error.SEND_LIMIT.message,
        errors={"phone": [Error.RATE_LIMITED.message, "Often"]},
        retry_after=7,
        id="msg_1",
    )

    with translation.override("ru"):
        body = refusal.body(request_id="req_1")

    assert body == {
        "success": False,
        "code": "send_limit",
        "message": "Превышен лимит отправок на этот номер",
        "id": "msg_1",
        "errors": {"phone": ["Слишком много запросов", "Often"]},
        "retry_after": 7,
        "request_id": "req_1",
    }


def test_invalid_input_names_the_fields() -> None:
    refusal = invalid_input(url="Bad")

    assert refusal.error is Error.INVALID_INPUT
    assert refusal.errors == {"url": ["Bad"]}
