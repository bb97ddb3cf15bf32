"""Sends and checks that arrive at once count once."""

from collections import Counter
from functools import partial

import pytest

from billing.models import Transfer
from billing.wallet import ledger
from channels.models import Message
from otp.models import Verification
from tests.api.clients import Api, ApiResponse, ClientOf
from tests.api.races import at_once
from tests.factories import CompanyFactory, LinkFactory
from tests.otp.sent_codes import code_of, forget_limits, verification_of, wrong_code

pytestmark = pytest.mark.django_db(transaction=True)

PHONE = "+79161234567"


def check(api: Api, phone: str, codes: list[str]) -> list[ApiResponse]:
    return at_once(
        [partial(api.post, "/otp/verify", {"phone": phone, "code": code}) for code in codes]
    )


def codes_of(responses: list[ApiResponse]) -> Counter[str]:
    return Counter("ok" if response.status == 200 else response.code for response in responses)


def test_parallel_correct_codes_succeed_once(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})

    result = codes_of(check(api, PHONE, [code_of(PHONE)] * 50))

    assert result["ok"] == 1
    assert result.keys() <= {"ok", "code_used", "too_many_attempts"}
    assert verification_of(PHONE).attempts == 1


def test_parallel_wrong_codes_are_checked_five_times(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})

    responses = check(api, PHONE, [wrong_code(PHONE)] * 50)

    assert codes_of(responses) == {"code_invalid": 5, "too_many_attempts": 45}
    left = [
        response.body["attempts_left"] for response in responses if response.code == "code_invalid"
    ]
    assert sorted(left) == [0, 1, 2, 3, 4]
    assert verification_of(PHONE).attempts == 5


@pytest.mark.parametrize("path", ["/otp/send", "/links/send"])
def test_tokens_for_one_send_pay_for_one(client_of: ClientOf, path: str) -> None:
    company = CompanyFactory.create()
    ledger.grant(company=company, amount=1, reason="test")
    api = client_of(company)

    responses = at_once(
        [
            partial(api.post, path, {"phone": f"+7916{n:07d}", "url": "https://example.com/"})
            for n in range(20)
        ]
    )

    assert codes_of(responses) == {"ok": 1, "insufficient_tokens": 19}
    assert ledger.balance(company.pk) == (0, 1)
    assert Transfer.objects.filter(kind="hold").count() == Message.objects.count() == 1
    assert Verification.objects.count() == (path == "/otp/send")


def test_parallel_sends_pass_the_cool_down_once(api: Api) -> None:
    purposes = ["one", "two"] * 5

    responses = at_once(
        [
            partial(api.post, "/otp/send", {"phone": PHONE, "purpose": purpose})
            for purpose in purposes
        ]
    )

    assert codes_of(responses) == {"ok": 1, "resend_too_soon": 9}
    assert Message.objects.count() == Verification.objects.count() == 1
    assert ledger.balance(api.company.pk) == (999, 1)


def test_send_that_always_meets_others_may_be_repeated(
    test_api: Api, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Like sends that keep superseding each other's code of one number, with fewer tries."""
    LinkFactory.create(slug="bcdfghjkmn")
    with monkeypatch.context() as patched:
        patched.setattr("links.addresses.slugs.generate", lambda _length: "bcdfghjkmn")
        lost = test_api.post("/otp/send", {"phone": PHONE, "link": "https://example.com/"})
    again = test_api.post("/otp/send", {"phone": PHONE, "link": "https://example.com/"})

    assert (lost.status, lost.code, lost.body["retry_after"]) == (503, "unavailable", 1)
    assert again.status == 200
    assert Message.objects.count() == 1


def test_parallel_sends_of_one_purpose_share_a_code(test_api: Api) -> None:
    responses = at_once([lambda: test_api.post("/otp/send", {"phone": PHONE})] * 5)

    assert codes_of(responses) == {"ok": 5}
    assert {response.body["expires_in"] for response in responses} == {300}
    assert Verification.objects.count() == 1
    assert set(Message.objects.values_list("subject_id", flat=True)) == {
        Verification.objects.get().id
    }


def test_parallel_sends_after_a_used_code_make_one(test_api: Api) -> None:
    test_api.post("/otp/send", {"phone": PHONE})
    test_api.post("/otp/verify", {"phone": PHONE, "code": code_of(PHONE, mode="test")})
    forget_limits()

    responses = at_once([lambda: test_api.post("/otp/send", {"phone": PHONE})] * 5)

    assert codes_of(responses) == {"ok": 5}
    assert Verification.objects.filter(superseded_at=None).count() == 1
    assert Verification.objects.count() == 2


def test_resend_while_the_code_is_being_entered(api: Api) -> None:
    api.post("/otp/send", {"phone": PHONE})
    code = code_of(PHONE)
    forget_limits()

    sent, checked = at_once(
        [
            lambda: api.post("/otp/send", {"phone": PHONE}),
            lambda: api.post("/otp/verify", {"phone": PHONE, "code": code}),
        ]
    )

    assert (sent.status, checked.status) == (200, 200)
    assert Verification.objects.filter(verified_at__isnull=False).count() == 1


def test_parallel_correct_codes_by_id_and_phone_succeed_once(api: Api) -> None:
    public_id = api.post("/otp/send", {"phone": PHONE}).body["verification"]
    code = code_of(PHONE)
    ways = [{"phone": PHONE}, {"id": public_id}]

    responses = at_once(
        [partial(api.post, "/otp/verify", ways[n % 2] | {"code": code}) for n in range(50)]
    )

    result = codes_of(responses)
    assert result["ok"] == 1
    assert result.keys() <= {"ok", "code_used", "too_many_attempts"}
    assert verification_of(PHONE).attempts == 1


@pytest.mark.parametrize("n", range(6))
def test_correct_code_and_cancel_at_once_have_one_outcome(api: Api, n: int) -> None:
    public_id = api.post("/otp/send", {"phone": PHONE}).body["verification"]
    code = code_of(PHONE)
    guess = partial(api.post, "/otp/verify", {"id": public_id, "code": code})
    cancel = partial(api.call, "DELETE", f"/otp/{public_id}")

    *others, guessed = at_once([*[cancel] * (1 + n % 3), guess])

    left = Verification.objects.get()
    assert (left.verified_at is None) == (left.cancelled_at is not None)
    if guessed.status == 200:
        assert codes_of(others).keys() == {"code_used"}
    else:
        assert (guessed.code, set(codes_of(others))) == ("code_expired", {"ok"})
        assert ledger.balance(api.company.pk) == (1000, 0)


@pytest.mark.parametrize("n", range(6))
def test_cancel_and_resend_at_once_leave_one_live_code_at_most(api: Api, n: int) -> None:
    public_id = api.post("/otp/send", {"phone": PHONE}).body["verification"]
    forget_limits()

    cancelled, again = at_once(
        [
            partial(api.call, "DELETE", f"/otp/{public_id}"),
            partial(api.post, "/otp/send", {"phone": PHONE, "channel": "sms"}),
        ]
    )

    assert cancelled.status == 200
    live = Verification.objects.filter(superseded_at=None)
    if again.body.get("verification") in {None, public_id}:  # it was sent, then cancelled with it
        assert not live.exists()
        assert set(Message.objects.values_list("state", flat=True)) == {"expired"}
        assert ledger.balance(api.company.pk) == (1000, 0)
    else:
        assert live.get().public_id == again.body["verification"]
        assert sorted(Message.objects.values_list("state", flat=True)) == ["expired", "queued"]
