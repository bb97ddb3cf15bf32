"""Endpoints: warnings about failures, and rotation of their secrets."""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

import pytest
import time_machine
from django.db import connection
from django.utils import timezone
from standardwebhooks import WebhookVerificationError

from accounts.models import Company, Mail, Member
from accounts.outbox.mail import NoticeKind
from catalogue.errors import DomainError, Error
from tests.api.clients import Api
from tests.api.races import at_once
from tests.factories import DeliveryFactory, EndpointFactory, MemberFactory
from tests.webhooks.receivers import Receiver
from tests.webhooks.rounds import make_due, run_round
from webhooks import deliveries, dispatcher, endpoints, signing
from webhooks.models import Delivery, Endpoint

NOBODY = "http://127.0.0.1:9/hook"


@pytest.fixture
def failing(company: Company) -> Endpoint:
    """An endpoint whose first delivery has just failed."""
    delivery = DeliveryFactory.create(endpoint__company=company, endpoint__url=NOBODY)
    run_round()
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
    email = Mail.objects.filter(template="endpoint_failing")[0]
    assert NOBODY in email.text
    assert f"/cabinet/webhooks/{failing.public_id}" in email.text


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
    run_round()
    age(endpoint, hours=2)
    make_due(delivery)
    receiver.status = 200
    run_round()

    endpoints.warn_of_failing()

    assert recipients() == set()


def test_endpoint_failing_again_is_warned_after_a_day(company: Company, failing: Endpoint) -> None:
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


def test_member_who_switched_webhook_emails_off_gets_none(
    company: Company, failing: Endpoint
) -> None:
    muted = MemberFactory.create(company=company).user
    muted.muted_notices = [NoticeKind.WEBHOOK.value]
    muted.save()
    other = MemberFactory.create(company=company).user
    age(failing, hours=2)

    endpoints.warn_of_failing()

    assert recipients() == {other.email}


def test_rotated_secret_signs_beside_old_one_for_a_day(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    old = endpoints.secret_of(endpoint)
    new = endpoints.rotate(endpoint=endpoint, user=None)
    run_round()
    Endpoint.objects.update(previous_until=timezone.now() - timedelta(seconds=1))
    DeliveryFactory.create(endpoint=endpoint)
    run_round()

    during, after = receiver.calls
    assert during.verified(old) == during.verified(new)
    assert len(during.headers["webhook-signature"].split()) == 2
    assert after.verified(new)
    assert len(after.headers["webhook-signature"].split()) == 1


def test_every_old_secret_signs_for_a_whole_day(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    first = endpoints.secret_of(endpoint)
    second = endpoints.rotate(endpoint=endpoint, user=None)
    age_rotations(hours=12)
    third = endpoints.rotate(endpoint=endpoint, user=None)
    run_round()
    age_rotations(hours=13)
    DeliveryFactory.create(endpoint=endpoint)
    run_round()

    during, after = receiver.calls
    assert during.verified(first) == during.verified(second) == during.verified(third)
    assert after.verified(second) == after.verified(third)
    with pytest.raises(WebhookVerificationError):
        after.verified(first)
    assert signing.secrets_by_key() == {endpoint.key_id: 2}


def age_rotations(*, hours: int) -> None:
    ago = timedelta(hours=hours)
    for row in Endpoint.objects.exclude(previous_until=None):
        assert row.previous_until is not None
        row.previous_until -= ago
        for secret in row.older_secrets:
            secret["until"] = (datetime.fromisoformat(secret["until"]) - ago).isoformat()
        row.save()


def test_replacements_of_a_secret_in_a_day_are_limited(endpoint: Endpoint) -> None:
    for _ in range(endpoints.MAX_OLD_SECRETS):
        endpoints.rotate(endpoint=endpoint, user=None)

    with pytest.raises(DomainError) as refusal:
        endpoints.rotate(endpoint=endpoint, user=None)

    assert refusal.value.error is Error.INVALID_INPUT
    assert endpoint.generation == 1 + endpoints.MAX_OLD_SECRETS


def test_missing_key_of_the_old_secret_leaves_the_new_one_to_sign(
    delivery: Delivery, endpoint: Endpoint, receiver: Receiver
) -> None:
    new = endpoints.rotate(endpoint=endpoint, user=None)
    Endpoint.objects.update(previous_key_id="taken-away")

    run_round()

    (call,) = receiver.calls
    assert call.verified(new)
    assert len(call.headers["webhook-signature"].split()) == 1


URL = "https://receiver.example.com/kvitok"


@pytest.mark.django_db(transaction=True)
def test_parallel_examples_cannot_exceed_the_limit(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company)
    path = f"/webhooks/{endpoint.public_id}/test"

    with time_machine.travel(timezone.now().replace(second=0), tick=False):
        responses = at_once([lambda: api.post(path)] * 30)

    assert Counter(response.status for response in responses) == {200: 20, 429: 10}


def test_url_of_an_endpoint_just_given_money_events_is_kept(api: Api) -> None:
    endpoint = EndpointFactory.create(company=api.company, kinds=["message.sent"])
    Endpoint.objects.filter(pk=endpoint.pk).update(kinds=["balance.low"])

    with pytest.raises(DomainError):
        endpoints.change(endpoint=endpoint, changes={"url": URL}, scopes=["otp"], user=None)

    endpoint.refresh_from_db()
    assert endpoint.url != URL


def test_money_events_are_not_replayed_after_unsubscribing(endpoint: Endpoint) -> None:
    """A developer, who sees no money, would read them at their own address."""
    Endpoint.objects.update(kinds=["balance.low", "message.sent"])
    endpoint.refresh_from_db()
    money = DeliveryFactory.create(endpoint=endpoint, event__kind="balance.low")
    other = DeliveryFactory.create(endpoint=endpoint, event__kind="message.sent", state="failed")
    developer = MemberFactory.create(company=endpoint.company, role="developer").user

    changes = {"url": URL, "kinds": ["message.sent"]}
    endpoints.change(endpoint=endpoint, changes=changes, scopes=["otp"], user=developer)
    with pytest.raises(DomainError):
        deliveries.replay(delivery=money, user=developer)
    replayed = deliveries.replay_failed(endpoint=endpoint, user=developer)

    money.refresh_from_db()
    other.refresh_from_db()
    assert (replayed, money.state, other.state) == (1, "failed", "pending")


def test_deleted_endpoints_keep_delivery_search_fast(
    endpoint: Endpoint,
) -> None:
    """Anybody may create and delete endpoints all day; the search runs every five seconds."""
    delivery = DeliveryFactory.create(endpoint=endpoint)
    EndpointFactory.create_batch(30, company=endpoint.company, deleted_at=timezone.now())
    Endpoint.objects.filter(pk=endpoint.pk).update(deleted_at=timezone.now())
    with connection.cursor() as cursor:
        # As the planner has it where there are many.
        for way in ("seqscan", "hashjoin", "mergejoin"):
            cursor.execute(f"SET LOCAL enable_{way} = off")
        cursor.execute(
            f"EXPLAIN (ANALYZE, FORMAT JSON) {dispatcher._SQL['cancel_undeliverable']}", [10]
        )
        (((plan,),),) = cursor.fetchall()
    delivery.refresh_from_db()

    assert delivery.state == "failed"
    assert 1 <= _rows_read(plan["Plan"], "webhooks_endpoint") <= 2


def _rows_read(node: dict[str, Any], table: str) -> float:
    own = node["Actual Rows"] * node["Actual Loops"] if node.get("Relation Name") == table else 0
    return float(own) + sum(_rows_read(part, table) for part in node.get("Plans", ()))
