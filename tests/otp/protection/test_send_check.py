"""Whether a send is let through: its country, range, address, person and proof of work."""

from datetime import timedelta

import pytest
from altcha import Challenge, Payload, solve_challenge
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from accounts.keys import api_keys
from accounts.models import GuardMode
from billing.wallet import ledger
from channels.models import Message
from otp.models import GuardRestriction
from otp.protection import challenges, guard_evidence, restrictions
from otp.protection.requesters import hashed, network_of
from tests.api.clients import Api, ApiResponse
from tests.factories import VerificationFactory
from tests.otp.protection.evidence_steps import begin
from tests.otp.sent_codes import forget_limits

pytestmark = pytest.mark.usefixtures("queued_at_once")
PHONE = "+79161234567"
STEP = GuardRestriction.Step


@pytest.fixture(autouse=True)
def _cheap_work(monkeypatch: pytest.MonkeyPatch) -> None:
    """Makes the same proof of work solvable in milliseconds."""
    monkeypatch.setattr(challenges, "COST", 1)


def hold(
    api: Api,
    step: int,
    *,
    kind: str = "prefix-4",
    value: str = "+79161234567"[:-4],
    until: float = 600.0,
) -> GuardRestriction:
    now = timezone.now()
    restriction: GuardRestriction = GuardRestriction.objects.create(
        company=api.company,
        kind=kind,
        value=value,
        step=step,
        rule="unverified",
        is_enforced=api.company.guard_mode == GuardMode.ENFORCE,
        codes=12,
        began_at=now,
        until=now + timedelta(seconds=until),
    )
    restrictions.publish(api.company)
    api_keys.clear_cache()
    return restriction


def send(api: Api, phone: str = PHONE, **fields: object) -> ApiResponse:
    return api.post("/otp/send", {"phone": phone} | fields)


def entered(*, days: float, **fields: object) -> None:
    """A correct code of the phone, some days ago."""
    at = timezone.now() - timedelta(days=days)
    VerificationFactory.create(
        phone=PHONE, verified_at=at, judged_at=at, superseded_at=at, **fields
    )


def solved(challenge: dict[str, object]) -> str:
    made = Challenge.from_dict(challenge)
    solution = solve_challenge(made)
    assert solution is not None
    encoded: str = Payload(made, solution).to_base64()
    return encoded


def test_refusal_names_scope_and_time_and_costs_nothing(api: Api) -> None:
    hold(api, STEP.REFUSE)

    response = send(api)

    assert (response.status, response.body["code"]) == (429, "send_limit")
    assert response.body["limit"] == {"kind": "guard", "scope": "prefix-4", "value": "+7916123"}
    assert 540 < response.body["retry_after"] <= 601
    assert "+7916123••••" in response.body["message"]
    assert not Message.objects.exists()
    assert ledger.balance(api.company.pk) == (1000, 0)


def test_neighbours_and_others_are_not_held(api: Api) -> None:
    hold(api, STEP.REFUSE)

    assert send(api, "+79161244567").status == 200
    assert send(api, "+79171234567").status == 200


def test_country_is_refused_with_all_its_numbers(api: Api) -> None:
    hold(api, STEP.REFUSE, kind="country", value="RU")

    assert send(api).body["limit"] == {"kind": "guard", "scope": "country", "value": "RU"}


def test_address_is_refused_by_its_hash(api: Api) -> None:
    ip = hashed(api.company.pk, "ip", "8.8.4.9")
    hold(api, STEP.REFUSE, kind="ip", value=ip)

    response = send(api, ip="8.8.4.9")

    assert response.body["limit"] == {"kind": "guard", "scope": "ip"}
    assert send(api, ip="8.8.4.8").status == 200
    assert send(api, "+79161234560").status == 200
    assert ip not in str(response.body)


def test_sender_ip_and_device_are_kept_as_hashes(api: Api) -> None:
    send(api, ip="8.8.4.9", device_id="phone-17")

    params = Message.objects.get().params
    assert params["sender"] == {
        "ip": hashed(api.company.pk, "ip", "8.8.4.9"),
        "device": hashed(api.company.pk, "device", "phone-17"),
    }
    assert "8.8.4.9" not in str(params)
    assert hashed(api.company.pk + 1, "ip", "8.8.4.9") != params["sender"]["ip"]


def test_cheap_only_restriction_leaves_messengers(api: Api) -> None:
    api.company.falls_back = True
    api.company.fallback_chain = ["telegram", "sms"]
    api.company.default_channel = "telegram"
    api.company.save()
    hold(api, STEP.CHEAP_ONLY)

    response = send(api)

    message = Message.objects.get()
    assert (response.status, message.channel, message.chain) == (200, "telegram", [])


def test_first_messenger_takes_the_place_of_sms(api: Api) -> None:
    api.company.falls_back = True
    api.company.fallback_chain = ["sms", "telegram"]
    api.company.default_channel = "sms"
    api.company.save()
    hold(api, STEP.CHEAP_ONLY)

    response = send(api)

    assert (response.body["channel"], response.body["cost"]) == ("telegram", 1)


def test_sms_continues_if_no_channel_is_cheaper(api: Api) -> None:
    hold(api, STEP.CHEAP_ONLY)

    assert send(api, channel="sms").status == 200


def test_challenge_is_solved_and_used_once(api: Api) -> None:
    hold(api, STEP.CHALLENGE)

    asked = send(api)
    proof = solved(asked.body["challenge"])
    passed = send(api, challenge=proof)
    again = send(api, "+79161234568", challenge=proof)

    assert (asked.status, asked.body["code"]) == (422, "challenge_required")
    assert passed.status == 200
    assert (again.status, again.body["code"]) == (422, "challenge_required")


@pytest.mark.usefixtures("no_call_waits")
def test_next_channel_takes_a_proof_or_trust(api: Api) -> None:
    verification = send(api).body["verification"]
    path = f"/otp/{verification}/next"
    hold(api, STEP.CHALLENGE)

    asked = api.post(path, {})
    passed = api.post(path, {"challenge": solved(asked.body["challenge"])})
    trusted = api.post(path, {"trusted": True})

    assert (asked.status, asked.body["code"]) == (422, "challenge_required")
    assert [passed.body["channel"], trusted.body["channel"]] == ["telegram", "sms"]
    assert "warnings" not in passed.body


def test_next_message_keeps_address_and_device_of_the_first(api: Api) -> None:
    verification = send(api, ip="8.8.4.9", device_id="phone-17").body["verification"]

    api.post(f"/otp/{verification}/next", {"device_id": "phone-18"})

    first, second = (row.params["sender"] for row in Message.objects.order_by("id"))
    assert second == first | {"device": hashed(api.company.pk, "device", "phone-18")}


def test_challenge_cannot_be_replayed(api: Api) -> None:
    hold(api, STEP.CHALLENGE)
    proof = solved(send(api).body["challenge"])

    challenges.check(api.company.pk, PHONE, proof)

    assert send(api, challenge=proof).body.get("code") == "challenge_required"


@pytest.mark.parametrize("proof", ["x", "e30=", "AA==", "W10=", "eyJjaGFsbGVuZ2UiOjF9", "A" * 3999])
def test_malformed_proof_is_refused_with_a_new_challenge(api: Api, proof: str) -> None:
    hold(api, STEP.CHALLENGE)

    response = send(api, challenge=proof)

    assert (response.status, response.body["code"]) == (422, "challenge_required")
    assert solved(response.body["challenge"])


def test_unsolved_challenge_is_not_a_proof(api: Api) -> None:
    hold(api, STEP.CHALLENGE)
    made = Challenge.from_dict(send(api).body["challenge"])
    solution = solve_challenge(made)
    assert solution is not None
    solution.counter += 1

    response = send(api, challenge=Payload(made, solution).to_base64())

    assert response.body["code"] == "challenge_required"


def test_trusted_person_needs_no_proof_and_can_be_refused(api: Api) -> None:
    restriction = hold(api, STEP.CHALLENGE)
    passed = send(api, trusted=True)
    restriction.delete()
    hold(api, STEP.REFUSE)

    assert passed.status == 200
    assert send(api, "+79161234568", trusted=True).status == 429


def test_refusal_for_another_reason_gives_the_proof_back(api: Api) -> None:
    send(api)
    hold(api, STEP.CHALLENGE)
    proof = solved(send(api).body["challenge"])

    too_soon = send(api, challenge=proof)
    forget_limits()
    passed = send(api, challenge=proof)

    assert (too_soon.body["code"], passed.status) == ("resend_too_soon", 200)
    assert send(api, challenge=proof).body["code"] == "challenge_required"


@pytest.mark.parametrize(
    ("typed", "other", "is_same"),
    [
        ("8.8.4.9", " 8.8.4.9", True),
        ("8.8.4.9", "::ffff:8.8.4.9", True),
        ("2a00:1450:4010::1", "2A00:1450:4010:0:9::2", True),
        ("2a00:1450:4010::1", "2a00:1450:4010:1::1", False),
        ("8.8.4.9", "8.8.4.10", False),
    ],
)
def test_one_subscriber_has_one_address(typed: str, other: str, is_same: bool) -> None:
    assert (network_of(typed) == network_of(other)) is is_same


def test_address_of_a_proxy_is_ignored_and_nonsense_is_refused(api: Api) -> None:
    response = send(api, ip="not an address")

    assert network_of("10.0.0.7") == ""
    assert (response.status, list(response.body["errors"])) == (422, ["ip"])


@pytest.mark.parametrize(("days", "status"), [(2, 200), (0.5, 429), (61, 429)])
def test_number_known_for_a_day_passes(api: Api, days: float, status: int) -> None:
    entered(days=days, company=api.company)
    hold(api, STEP.REFUSE)

    assert send(api).status == status


def test_correct_code_of_another_company_does_not_make_a_phone_known(api: Api) -> None:
    entered(days=2)
    hold(api, STEP.REFUSE)

    assert send(api).status == 429


def test_watching_company_sends_and_counts_the_restriction(api: Api) -> None:
    api.company.guard_mode = GuardMode.WATCH
    api.company.save()
    restriction = hold(api, STEP.REFUSE)

    begin()
    assert send(api).status == 200
    guard_evidence.count()

    restriction.refresh_from_db()
    assert (restriction.stopped, restriction.is_enforced) == (1, False)


def test_ended_restriction_holds_nobody(api: Api) -> None:
    hold(api, STEP.REFUSE, until=-1)

    assert send(api).status == 200


def test_allowed_range_passes_narrower_restrictions(api: Api) -> None:
    hold(api, STEP.REFUSE, kind="prefix-2", value=PHONE[:-2])
    hold(api, STEP.ALLOW)

    assert send(api).status == 200


def test_test_keys_and_links_are_not_looked_at(api: Api, test_api: Api) -> None:
    hold(api, STEP.REFUSE)

    assert send(test_api).status == 200
    assert api.post("/links/send", {"phone": PHONE, "url": "https://example.com/"}).status == 200


def test_restrictions_come_with_the_key_and_need_no_query(api: Api) -> None:
    send(api, "+79260000001")
    with CaptureQueriesContext(connection) as before:
        send(api, "+79260000002")
    hold(api, STEP.REFUSE)
    send(api, "+79260000003")
    with CaptureQueriesContext(connection) as after:
        send(api, "+79260000004")

    assert len(after) == len(before)


CHALLENGED = "+79990000015"
HELD_BACK = "+79990000016"


def test_number_of_a_test_key_needs_a_proof(test_api: Api) -> None:
    asked = send(test_api, CHALLENGED)
    wrong = send(test_api, CHALLENGED, challenge="nonsense")
    proof = solved(asked.body["challenge"])
    sent, again = (send(test_api, CHALLENGED, challenge=proof) for _try in range(2))

    codes = [response.code for response in (asked, wrong, again)]
    assert (codes, sent.status) == (["challenge_required"] * 3, 200)
    assert send(test_api, CHALLENGED, trusted=True).status == 200


def test_number_of_a_test_key_is_held_back_by_the_guard(test_api: Api) -> None:
    response = send(test_api, HELD_BACK, trusted=True)

    assert (response.status, response.code) == (429, "send_limit")
    assert response.body["limit"] == {"kind": "guard", "scope": "prefix-4", "value": "+7999000"}
    assert 0 < response.body["retry_after"] <= 3600


def test_same_numbers_are_ordinary_to_live_keys_and_to_links(api: Api, test_api: Api) -> None:
    for phone in (CHALLENGED, HELD_BACK):
        link = {"phone": phone, "url": "https://shop.example/"}

        assert send(api, phone).status == 200
        assert test_api.post("/links/send", link).status == 200
