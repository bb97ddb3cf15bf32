"""`link_until: code`: a link expires with the code it was sent with."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction

from accounts.models import Company
from catalogue.ids import uuid7
from channels import sql as channels_sql
from channels.models import Message
from links.follow import cached_row, resolution
from links.models import Link
from otp.check import settlement
from otp.models import Verification
from tests.api.clients import Api, ApiResponse
from tests.api.races import at_once
from tests.otp.sent_codes import age_rows, code_of, wrong_code
from tests.plans import explained
from tests.sql import execute

PHONE = "+79161234567"
URL = "https://example.com/"
pytestmark = pytest.mark.django_db(transaction=True)


def send(api: Api, **fields: Any) -> ApiResponse:
    response = api.post("/otp/send", {"phone": PHONE, "link": URL, "link_until": "code"} | fields)
    assert response.status == 200, response.body
    return response


def verify(api: Api, code: str) -> ApiResponse:
    return api.post("/otp/verify", {"phone": PHONE, "code": code})


def states() -> list[str]:
    return [link.state for link in Link.objects.order_by("created_at")]


def test_link_ends_with_the_code_at_the_latest(api: Api) -> None:
    send(api, link_expires_in=3600)

    link = Link.objects.get()
    code = Verification.objects.get()
    assert link.dies_with_code
    assert link.expires_at == code.expires_at
    assert api.get(f"/links/{link.public_id}").body["until"] == "code"


def test_shorter_link_lifetime_is_kept(api: Api) -> None:
    send(api, link_expires_in=60)

    link = Link.objects.get()
    code = Verification.objects.get()
    assert link.expires_at is not None
    assert timedelta(0) < code.expires_at - link.expires_at < timedelta(seconds=245)


def test_without_it_the_link_outlives_the_code(api: Api) -> None:
    send(api, link_until=None)
    verify(api, code_of(PHONE))
    settlement.settle_verified()

    assert (Link.objects.get().expires_at, states()) == (None, ["active"])


def test_correct_code_ends_every_link_it_went_out_with(api: Api) -> None:
    first = send(api).body["short_url"].rpartition("/")[2]
    age_rows(seconds=61)
    send(api, channel="sms")
    other = send(api, phone="+79161234568")
    assert isinstance(resolution.resolve(first), cached_row.LinkTarget)

    assert verify(api, code_of(PHONE)).status == 200
    assert states() == ["active"] * 3
    settlement.settle_verified()

    assert states() == ["disabled", "disabled", "active"]
    assert resolution.resolve(first) is cached_row.GONE
    slug = other.body["short_url"].rpartition("/")[2]
    assert isinstance(resolution.resolve(slug), cached_row.LinkTarget)


def test_code_that_is_locked_out_ends_its_link(api: Api) -> None:
    slug = send(api).body["short_url"].rpartition("/")[2]
    resolution.resolve(slug)
    for _ in range(5):
        verify(api, wrong_code(PHONE))

    settlement.settle_verified()

    assert states() == ["disabled"]
    assert resolution.resolve(slug) is cached_row.GONE
    assert Verification.objects.get().settled_at is not None


def test_newer_code_ends_link_of_previous_code(api: Api) -> None:
    send(api)
    age_rows(seconds=250)  # too little is left to send it again
    send(api)
    assert Verification.objects.count() == 2

    settlement.settle_verified()

    assert states() == ["disabled", "active"]
    old = Verification.objects.order_by("created_at")[0]
    assert old.settled_at is not None


def test_expired_code_is_settled_by_next_code(api: Api) -> None:
    send(api)
    age_rows(seconds=301)
    send(api)

    settled = Verification.objects.order_by("created_at").values_list("settled_at", flat=True)
    assert [at is not None for at in settled] == [True, False]


def test_wrong_code_with_attempts_left_ends_nothing(api: Api) -> None:
    send(api)
    verify(api, wrong_code(PHONE))

    settlement.settle_verified()

    assert states() == ["active"]


def test_uncommitted_settlement_is_repeated(api: Api) -> None:
    send(api)
    verify(api, code_of(PHONE))
    with transaction.atomic():
        settlement.settle_verified()
        transaction.set_rollback(True)
    assert states() == ["active"]

    settlement.settle_verified()

    assert states() == ["disabled"]


def test_parallel_settlements_end_a_link_once(api: Api) -> None:
    send(api)
    verify(api, code_of(PHONE))

    at_once([settlement.settle_verified] * 4)

    assert states() == ["disabled"]


@pytest.mark.parametrize("until", ["time", 5])
def test_unknown_link_until_is_refused(api: Api, until: object) -> None:
    response = api.post("/otp/send", {"phone": PHONE, "link": URL, "link_until": until})

    assert (response.status, list(response.body["errors"])) == (422, ["link_until"])
    assert not Message.objects.exists()


SETTLED_CODES = """
INSERT INTO otp_verification (id, company_id, mode, phone, purpose, mac, key_id, length,
                              max_attempts, expires_at, superseded_at, settled_at)
SELECT id, %s, 'live', '+79161234567', 'login', '', '1', 6, 3, now(), now(), now()
FROM unnest(%s::uuid[]) AS id
"""


def test_codes_ended_early_are_found_by_an_index(company: Company) -> None:
    # Among a handful of codes any index is as good.
    execute(SETTLED_CODES, [company.pk, [uuid7() for _ in range(3_000)]])
    execute("ANALYZE otp_verification")
    plan = explained(channels_sql.in_changeable_months(settlement._SQL["has_unsettled"]))

    assert "verification_over_early" in plan
    assert "verification_unsettled" in plan
