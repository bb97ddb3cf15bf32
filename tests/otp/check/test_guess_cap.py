"""The cap on wrong codes of a phone, over all its codes."""

import re
from concurrent.futures import ThreadPoolExecutor
from functools import partial

import pytest
from django.db import transaction

from billing.wallet import ledger
from otp.models import Verification
from tests.api.blocking import start_blocked
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory
from tests.otp.sent_codes import age_rows, code_of, forget_limits, verification_of, wrong_code

PHONE = "+79161234567"
HOUR = 3600


def send(api: Api, purpose: str = "verification") -> ApiResponse:
    forget_limits()
    return api.post("/otp/send", {"phone": PHONE, "purpose": purpose})


def check(api: Api, code: str, purpose: str = "verification") -> ApiResponse:
    return api.post("/otp/verify", {"phone": PHONE, "code": code, "purpose": purpose})


def guess(api: Api, purpose: str = "verification") -> ApiResponse:
    return check(api, wrong_code(PHONE, purpose), purpose)


def fail(api: Api, times: int, **ago: float) -> None:
    """Enters wrong codes, five to a code, this long ago."""
    for start in range(0, times, 5):
        age_rows(seconds=301)
        assert send(api).status == 200
        for _ in range(min(5, times - start)):
            assert guess(api).code == "code_invalid"
    age_rows(**ago)


def assert_refused_until(api: Api, least: int, most: int) -> None:
    """Asserts that a send is refused, with the exact wait in `retry_after`."""
    refused = send(api)
    assert (refused.status, refused.code) == (429, "too_many_attempts")
    wait = refused.body["retry_after"]
    assert least <= wait <= most

    age_rows(seconds=wait - 2)
    assert send(api).code == "too_many_attempts"
    age_rows(seconds=3)
    assert send(api).status == 200


def test_codes_opened_before_share_the_cap(api: Api) -> None:
    purposes = [f"purpose{number}" for number in range(5)]
    for purpose in purposes:
        assert send(api, purpose).status == 200

    responses = [guess(api, purpose) for purpose in purposes for _ in range(5)]

    codes = [response.code for response in responses]
    assert codes == ["code_invalid"] * 10 + ["too_many_attempts"] * 15
    right = check(api, code_of(PHONE, "purpose4"), "purpose4")
    assert (right.status, right.code) == (429, "too_many_attempts")
    assert verification_of(PHONE, "purpose4").attempts == 0


@pytest.mark.django_db(transaction=True)
def test_cap_is_exact_when_all_guess_at_once(api: Api) -> None:
    purposes = [f"purpose{number}" for number in range(10)]
    for purpose in purposes:
        assert send(api, purpose).status == 200
    codes = {purpose: wrong_code(PHONE, purpose) for purpose in purposes}

    responses = at_once(
        [partial(check, api, codes[purpose], purpose) for purpose in purposes for _ in range(5)]
    )

    assert sorted(response.code for response in responses) == (
        ["code_invalid"] * 10 + ["too_many_attempts"] * 40
    )
    assert sum(verification.attempts for verification in Verification.objects.all()) == 10


@pytest.mark.django_db(transaction=True)
def test_parallel_guesses_are_counted_one_by_one(api: Api) -> None:
    purposes = ["one", "two", "three", "four"]
    for purpose in purposes:
        send(api, purpose)
    for purpose in ["one"] * 5 + ["two"] * 4:
        assert guess(api, purpose).code == "code_invalid"

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            tenth = guess(api, "three")
            late = start_blocked(pool, partial(guess, api, "four"))
        eleventh = late.result()

    assert (tenth.code, eleventh.code) == ("code_invalid", "too_many_attempts")


def test_wrong_code_response_counts_guesses_left(api: Api) -> None:
    fail(api, 8)
    age_rows(seconds=301)

    sent = send(api)
    responses = [guess(api), guess(api)]

    assert sent.body["attempts_left"] == 2
    assert [response.body["attempts_left"] for response in responses] == [1, 0]
    assert guess(api).code == "too_many_attempts"


@pytest.mark.parametrize(
    ("times", "ago", "status"),
    [
        (9, {"minutes": 6}, 200),
        (10, {"minutes": 6}, 429),
        (10, {"minutes": 61}, 200),
        (10, {"hours": 25}, 200),
    ],
)
def test_failed_attempts_are_capped_by_hour(
    api: Api, times: int, ago: dict[str, float], status: int
) -> None:
    fail(api, times, **ago)

    assert send(api).status == status


def test_hourly_refusal_says_when_the_next_code_comes(api: Api) -> None:
    fail(api, 10, minutes=6)  # the first five 301 s before the others

    assert_refused_until(api, HOUR - 301 - 360 - 20, HOUR - 301 - 360)


@pytest.mark.parametrize(("ago", "left"), [({"minutes": 61}, 1), ({"hours": 24}, 5)])
def test_failed_attempts_are_capped_by_day(api: Api, ago: dict[str, float], left: int) -> None:
    fail(api, 10, hours=2)
    fail(api, 10, **ago)

    sent = send(api)

    assert (sent.status, sent.body["attempts_left"]) == (200, left)


def test_phone_past_daily_cap_has_one_guess_an_hour(api: Api) -> None:
    fail(api, 10, hours=2)
    fail(api, 10, minutes=61)

    assert send(api, "one").status == send(api, "two").status == 200
    assert guess(api, "one").body["attempts_left"] == 0
    assert guess(api, "one").code == guess(api, "two").code == "too_many_attempts"
    assert check(api, code_of(PHONE, "two"), "two").code == "too_many_attempts"
    assert_refused_until(api, HOUR - 20, HOUR)
    assert check(api, code_of(PHONE)).status == 200


def test_correct_code_lets_the_next_code_have_a_guess_at_once(api: Api) -> None:
    fail(api, 10, hours=2)
    fail(api, 10, minutes=61)
    send(api)
    assert check(api, code_of(PHONE)).status == 200

    again = send(api)

    assert (again.status, again.body["attempts_left"]) == (200, 1)
    assert check(api, code_of(PHONE)).status == 200
    send(api)
    assert guess(api).code == "code_invalid"
    assert send(api).code == "too_many_attempts"


def test_day_of_guessing_has_a_bound(api: Api) -> None:
    """A stranger asks for a code and guesses as often as he is let, every quarter of an hour."""
    judged = []
    for _ in range(24 * 4):
        count = 0
        while (sent := send(api)).status == 200 and sent.body["attempts_left"]:
            while guess(api).code == "code_invalid":
                count += 1
        judged.append(count)
        if sent.status == 429:
            assert 1 <= sent.body["retry_after"] <= HOUR
        age_rows(minutes=15)

    assert max(sum(judged[at : at + 4]) for at in range(len(judged))) == 10
    assert sum(judged) <= 42


def test_failure_cap_spans_purposes_within_company(api: Api, client_of: ClientOf) -> None:
    fail(api, 10, minutes=6)
    other = client_of(CompanyFactory.create())
    ledger.grant(company=other.company, amount=5, reason="test")

    assert send(api, "x").code == "too_many_attempts"
    assert api.post("/otp/send", {"phone": "+79161234568"}).status == 200
    assert api.post("/links/send", {"phone": PHONE, "url": "https://example.com"}).status == 200
    assert other.post("/otp/send", {"phone": PHONE}).status == 200


def test_correct_code_counts_as_no_failed_attempt(api: Api) -> None:
    for _ in range(5):
        age_rows(seconds=61)
        send(api)
        guess(api)
        assert check(api, code_of(PHONE)).status == 200
        age_rows(seconds=61)
        send(api)
        assert check(api, code_of(PHONE)).status == 200

    age_rows(seconds=61)
    assert send(api).status == 200


def test_code_that_the_cap_closed_is_not_sent_again(api: Api) -> None:
    fail(api, 9)
    fail(api, 1)
    age_rows(seconds=61)
    held = ledger.balance(api.company.pk)

    assert send(api).code == "too_many_attempts"
    assert ledger.balance(api.company.pk) == held


def test_code_that_is_not_closed_is_sent_again(api: Api) -> None:
    fail(api, 9)
    age_rows(seconds=61)

    response = send(api)

    assert (response.status, response.body["expires_in"]) == (200, 239)
    assert response.body["attempts_left"] == 1


def exhausted(api: Api) -> ApiResponse:
    for _ in range(5):
        assert guess(api).code == "code_invalid"
    return guess(api)


def seconds_in(text: str) -> int:
    match = re.search(r"(\d+) (?:с|s)$", text)
    assert match
    return int(match[1])


@pytest.mark.parametrize("without_redis", [False, True])
def test_exhausted_code_states_when_a_new_one_may_be_requested(
    api: Api, without_redis: bool, request: pytest.FixtureRequest
) -> None:
    if without_redis:
        request.getfixturevalue("no_redis")
        api.post("/otp/send", {"phone": PHONE})
    else:
        send(api)

    response = exhausted(api)

    assert response.code == "too_many_attempts"
    assert 40 <= response.body["retry_after"] <= 60
    assert "Запросите новый код через" in response.body["message"]
    assert seconds_in(response.body["message"]) == response.body["retry_after"]
    english = api.post(
        "/otp/verify", {"phone": PHONE, "code": "123456"}, **{"Accept-Language": "en"}
    )
    assert "Ask for a new one in" in english.body["message"]
    assert seconds_in(english.body["message"]) == english.body["retry_after"]


def test_exhausted_code_after_cool_down_asks_for_new_one(api: Api) -> None:
    send(api)
    exhausted(api)
    age_rows(seconds=61)

    response = guess(api)

    assert response.body["retry_after"] == 1
    assert response.body["message"].endswith("Запросите новый код")
    assert api.post("/otp/send", {"phone": PHONE}).status == 200


def test_exhausted_code_mentions_the_cap(api: Api) -> None:
    fail(api, 10)

    response = guess(api)

    assert HOUR - 301 - 20 <= response.body["retry_after"] <= HOUR - 301
    assert re.search(r"через 5\d мин$", response.body["message"])
