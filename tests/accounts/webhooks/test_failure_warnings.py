"""Owners and developers hear of a failing endpoint once, while there is time to mend it."""

from datetime import timedelta

import pytest
from django.utils import timezone

from accounts.models import Company, Endpoint, Mail, Member
from accounts.outbox.mail import NoticeKind
from accounts.webhooks import endpoints
from tests.accounts.webhooks.receivers import Receiver
from tests.accounts.webhooks.rounds import make_due, make_round
from tests.factories import DeliveryFactory, MemberFactory

NOBODY = "http://127.0.0.1:9/hook"


@pytest.fixture
def failing(company: Company) -> Endpoint:
    """An endpoint whose first delivery has just failed."""
    delivery = DeliveryFactory.create(endpoint__company=company, endpoint__url=NOBODY)
    make_round()
    return Endpoint.objects.get(pk=delivery.endpoint_id)


def age(endpoint: Endpoint, **by: int) -> None:
    endpoint.refresh_from_db()
    assert endpoint.failing_since is not None
    endpoint.failing_since -= timedelta(**by)
    if endpoint.warned_at:
        endpoint.warned_at -= timedelta(**by)
    endpoint.save()


def recipients() -> set[str]:
    return set(Mail.objects.filter(template="endpoint_failing").values_list("to", flat=True))


def test_owner_and_developer_are_warned_after_an_hour(company: Company, failing: Endpoint) -> None:
    owner = MemberFactory.create(company=company)
    developer = MemberFactory.create(company=company, role=Member.Role.DEVELOPER)
    MemberFactory.create(company=company, role=Member.Role.ACCOUNTANT)

    age(failing, minutes=59)
    endpoints.warn_of_failing()
    assert recipients() == set()

    age(failing, minutes=2)
    endpoints.warn_of_failing()
    assert recipients() == {owner.user.email, developer.user.email}
    letter = Mail.objects.filter(template="endpoint_failing")[0]
    assert NOBODY in letter.text
    assert f"/cabinet/webhooks/{failing.public_id}" in letter.text


def test_warning_comes_once(company: Company, failing: Endpoint) -> None:
    MemberFactory.create(company=company)
    age(failing, hours=2)

    for _ in range(3):
        endpoints.warn_of_failing()
        age(failing, hours=7)

    assert Mail.objects.filter(template="endpoint_failing").count() == 1


def test_endpoint_that_accepts_again_is_not_warned_of(
    company: Company, endpoint: Endpoint, receiver: Receiver
) -> None:
    MemberFactory.create(company=company)
    delivery = DeliveryFactory.create(endpoint=endpoint)
    receiver.status = 500
    make_round()
    age(endpoint, hours=2)
    make_due(delivery)
    receiver.status = 200
    make_round()

    endpoints.warn_of_failing()

    assert recipients() == set()


def test_one_that_recovers_and_fails_again_waits_a_day(company: Company, failing: Endpoint) -> None:
    MemberFactory.create(company=company)
    age(failing, hours=2)
    endpoints.warn_of_failing()
    Endpoint.objects.update(failing_since=timezone.now())

    age(failing, hours=23)
    endpoints.warn_of_failing()
    assert Mail.objects.filter(template="endpoint_failing").count() == 1

    age(failing, hours=2)
    endpoints.warn_of_failing()
    assert Mail.objects.filter(template="endpoint_failing").count() == 2


@pytest.mark.parametrize("field", ["disabled_at", "deleted_at"])
def test_endpoint_that_is_off_is_not_warned_of(
    company: Company, failing: Endpoint, field: str
) -> None:
    MemberFactory.create(company=company)
    age(failing, hours=2)
    Endpoint.objects.update(**{field: timezone.now()})

    endpoints.warn_of_failing()

    assert recipients() == set()


def test_member_who_switched_webhook_letters_off_gets_none(
    company: Company, failing: Endpoint
) -> None:
    muted = MemberFactory.create(company=company).user
    muted.muted_notices = [NoticeKind.WEBHOOK.value]
    muted.save()
    other = MemberFactory.create(company=company).user
    age(failing, hours=2)

    endpoints.warn_of_failing()

    assert recipients() == {other.email}
