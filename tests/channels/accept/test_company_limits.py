"""A company's own send limits hold in Redis and, without it, in PostgreSQL."""

import pytest

from accounts.models import Company
from accounts.people import companies
from channels.lifecycle.state_machine import EventKind
from channels.models import Message
from tests.api.clients import Api
from tests.channels.message_stages import apply_event, submitted
from tests.factories import MemberFactory

pytestmark = pytest.mark.usefixtures("store")

PHONE = "+79161234567"
URL = "https://example.com/"


def set_limits(company: Company, **limits: int | None) -> None:
    """As the settings page does: the keys' cache forgets, too."""
    user = MemberFactory.create(company=company).user
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("django.db.transaction.on_commit", lambda call: call())
        companies.change_settings(company=company, user=user, changes=limits)


def code(api: Api, phone: str = PHONE) -> str:
    answer = api.post("/otp/send", {"phone": phone})
    return "sent" if answer.status == 200 else answer.code


def link(api: Api) -> str:
    answer = api.post("/links/send", {"phone": PHONE, "url": URL})
    return "sent" if answer.status == 200 else answer.code


def test_fewer_codes_in_ten_minutes(test_api: Api) -> None:
    set_limits(test_api.company, codes_per_10_min=2)

    assert [code(test_api) for _ in range(3)] == ["sent", "sent", "send_limit"]
    assert link(test_api) == "sent"


def test_more_codes_than_the_service_s_own(test_api: Api) -> None:
    set_limits(test_api.company, codes_per_10_min=7)

    assert [code(test_api) for _ in range(8)] == ["sent"] * 7 + ["send_limit"]


def test_limit_of_a_longer_time_holds_as_well(test_api: Api) -> None:
    set_limits(test_api.company, codes_per_10_min=5, codes_per_hour=5, codes_per_day=3)

    assert [code(test_api) for _ in range(4)] == ["sent"] * 3 + ["send_limit"]


def test_links_have_limits_of_their_own(test_api: Api) -> None:
    set_limits(test_api.company, links_per_10_min=1)

    assert [link(test_api), link(test_api), code(test_api)] == ["sent", "send_limit", "sent"]


def test_cool_down_is_the_company_s(api: Api) -> None:
    set_limits(api.company, cool_down=120)

    sent = api.post("/otp/send", {"phone": PHONE})
    again = api.post("/otp/send", {"phone": PHONE})

    assert sent.body["resend_in"] == 120
    assert again.code == "resend_too_soon"
    assert 118 <= again.body["retry_after"] <= 120


def test_limits_of_one_company_are_no_other_s(test_api: Api, api: Api) -> None:
    set_limits(test_api.company, codes_per_10_min=1)
    set_limits(test_api.company, codes_per_10_min=None)

    assert [code(test_api) for _ in range(6)] == ["sent"] * 5 + ["send_limit"]


def test_refused_send_gives_its_place_back(test_api: Api, store: str) -> None:
    set_limits(test_api.company, codes_per_10_min=1)
    attempt = submitted(test_api, PHONE)
    apply_event(attempt, EventKind.REFUSED, code="test")

    assert Message.objects.get().state == "failed"
    assert code(test_api) == "sent"
    assert code(test_api) == "send_limit"
