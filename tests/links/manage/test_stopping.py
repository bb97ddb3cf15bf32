"""A company's links are stopped and released, all of them or a batch."""

from collections.abc import Iterator

import pytest
from django.db import DatabaseError
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AuditEvent, Company
from billing.wallet import ledger
from catalogue.errors import DomainError
from catalogue.ids import uuid7
from links.follow import resolution
from links.follow.cached_row import GONE, LinkTarget
from links.follow.change_feed import REDIS_COPY, StopCache
from links.follow.resolution import Resolver
from links.manage import stopping
from links.models import Link, Stop
from storage.redis_client import redis_client
from tests.api.clients import Api
from tests.factories import CompanyFactory, LinkFactory
from tests.links.visiting import Ask, wait_until, without_redis
from tests.sql import execute

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.urls("tests.links.visiting")]


@pytest.fixture
def company() -> Company:
    return CompanyFactory.create()


@pytest.fixture
def link(company: Company) -> Link:
    return LinkFactory.create(company=company, batch_id=uuid7())


def process() -> Resolver:
    """Another process, with caches of links and stops of its own."""
    return Resolver(StopCache())


def statuses(ask: Ask, *links: Link) -> list[int]:
    return [ask(f"/{link.slug}")[0] for link in links]


def test_all_links_of_a_company_stop_and_come_back(ask: Ask, link: Link, company: Company) -> None:
    second = LinkFactory.create(company=company)
    stranger = LinkFactory.create()
    before = statuses(ask, link, second, stranger)

    stopping.stop(company=company)
    stopped = statuses(ask, link, second, stranger)
    stopping.release(company=company)

    assert (before, stopped) == ([302, 302, 302], [410, 410, 302])
    assert statuses(ask, link, second, stranger) == [302, 302, 302]


@pytest.mark.urls("config.urls")
@pytest.mark.parametrize(("path", "field"), [("/links/send", "url"), ("/otp/send", "link")])
def test_stopped_company_sends_no_link(api: Api, path: str, field: str) -> None:
    """It would not open, and be charged."""
    sent = {"phone": "+79161234567", field: "https://example.com/"}
    ledger.grant(company=api.company, amount=100, reason="test")
    stopping.stop(company=api.company)

    refused = api.post(path, sent)
    stopping.release(company=api.company)

    assert (refused.status, refused.body["code"]) == (403, "forbidden")
    assert api.post(path, sent).status == 200


def test_links_of_a_deleted_company_never_come_back(ask: Ask, link: Link, company: Company) -> None:
    stopping.stop(company=company, by_operator=True)
    Company.objects.filter(pk=company.pk).update(deleted_at=timezone.now())

    assert not stopping.release(company=company, by_operator=True)
    assert statuses(ask, link) == [410]


def test_stopped_batch_leaves_other_links_open(ask: Ask, link: Link, company: Company) -> None:
    same = LinkFactory.create(company=company, batch_id=link.batch_id)
    other = LinkFactory.create(company=company, batch_id=uuid7())

    stopping.stop(company=company, batch_id=link.batch_id)

    assert statuses(ask, link, same, other) == [410, 410, 302]


def test_stopped_batches_of_a_company_have_a_bound(
    link: Link, company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Every process reads all of them each second: 300,000 took a redirect from 2 to 21 ms."""
    monkeypatch.setattr(stopping, "MAX_STOPPED_BATCHES", 2)
    first = link.batch_id
    second = uuid7()
    third = uuid7()
    stopping.stop(company=CompanyFactory.create(), batch_id=uuid7())
    for batch_id in (first, second, second):
        stopping.stop(company=company, batch_id=batch_id)

    with pytest.raises(DomainError):
        stopping.stop(company=company, batch_id=third)

    assert stopping.stop(company=company, batch_id=third, by_operator=True)
    assert stopping.stop(company=company)
    for batch_id in (second, third):
        stopping.release(company=company, batch_id=batch_id, by_operator=True)
    assert stopping.stop(company=company, batch_id=third)


def test_company_cannot_stop_the_batch_of_another(ask: Ask, link: Link) -> None:
    stopping.stop(company=CompanyFactory.create(), batch_id=link.batch_id)

    assert statuses(ask, link) == [302]


def test_release_of_a_batch_leaves_its_company_stopped(
    ask: Ask, link: Link, company: Company
) -> None:
    stopping.stop(company=company)
    stopping.stop(company=company, batch_id=link.batch_id)

    stopping.release(company=company, batch_id=link.batch_id)

    assert statuses(ask, link) == [410]


def test_link_disabled_during_a_stop_stays_disabled(ask: Ask, link: Link, company: Company) -> None:
    stopping.stop(company=company)
    Link.objects.filter(pk=link.pk).update(disabled_at=timezone.now())
    resolution.invalidate_after_commit(link)

    stopping.release(company=company)

    assert statuses(ask, link) == [410]


def test_repeated_stop_is_recorded_once(company: Company) -> None:
    results = [stopping.stop(company=company), stopping.stop(company=company)]
    results += [stopping.release(company=company), stopping.release(company=company)]

    actions = AuditEvent.objects.order_by("id").values_list("action", flat=True)
    assert results == [True, False, True, False]
    assert list(actions) == ["links.stopped", "links.released"]


def test_suspended_company_keeps_its_links(ask: Ask, link: Link, company: Company) -> None:
    Company.objects.filter(pk=company.pk).update(status=Company.Status.SUSPENDED)

    assert statuses(ask, link) == [302]


def test_stop_and_release_reach_another_process(link: Link, company: Company) -> None:
    other = process()
    assert isinstance(other.resolve(link.slug), LinkTarget)

    stopping.stop(company=company)
    is_stopped = wait_until(lambda: other.resolve(link.slug) is GONE)
    stopping.release(company=company)

    assert is_stopped
    assert wait_until(lambda: isinstance(other.resolve(link.slug), LinkTarget))


def test_stop_is_known_before_the_first_answer(link: Link, company: Company) -> None:
    process().resolve(link.slug)  # Redis knows the link now
    stopping.stop(company=company)

    assert process().resolve(link.slug) is GONE


def test_stop_missed_by_redis_takes_effect_when_it_returns(link: Link, settings: Settings) -> None:
    other = process()
    with without_redis(settings):
        other.resolve(link.slug)
        Stop.objects.create(company=link.company)  # by a process that could tell nobody

    assert wait_until(lambda: other.resolve(link.slug) is GONE)


def test_stop_takes_effect_while_redis_is_down(
    link: Link, company: Company, settings: Settings
) -> None:
    with without_redis(settings):
        other = process()
        assert isinstance(other.resolve(link.slug), LinkTarget)

        stopping.stop(company=company)

        assert wait_until(lambda: other.resolve(link.slug) is GONE)


@pytest.fixture
def no_database() -> Iterator[None]:
    """Makes the table of stops unreadable."""
    execute("ALTER TABLE links_stop RENAME TO links_stop_away")
    yield
    execute("ALTER TABLE links_stop_away RENAME TO links_stop")


def test_known_stops_stay_without_the_database(
    link: Link, company: Company, request: pytest.FixtureRequest
) -> None:
    stopping.stop(company=company)
    stops = StopCache()
    stops.ensure_loaded()

    request.getfixturevalue("no_database")
    stops.refresh()

    assert stops.value == {company.pk}


def copied() -> set[str]:
    copy = redis_client().get(REDIS_COPY)
    return set(copy.decode().split()) if isinstance(copy, bytes) else set()


def test_process_that_starts_without_the_database_reads_the_copy(
    company: Company, request: pytest.FixtureRequest
) -> None:
    batch_id = uuid7()
    stopping.stop(company=company)
    stopping.stop(company=company, batch_id=batch_id)
    stopped = {company.pk, f"{company.pk}/{batch_id.hex}"}
    # Others in this process read as well, and may be late with the former state.
    assert wait_until(lambda: copied() == set(map(str, stopped)))

    request.getfixturevalue("no_database")
    stops = StopCache()
    stops.ensure_loaded()

    assert stops.value == stopped


def test_unknown_stops_raise(link: Link, request: pytest.FixtureRequest) -> None:
    resolution.resolve(link.slug)  # Redis knows the link now

    request.getfixturevalue("no_database")

    def is_refused() -> bool:
        redis_client().delete(REDIS_COPY)
        try:
            process().resolve(link.slug)
        except DatabaseError:
            return True
        return False

    # Repeated, since another thread may still write a copy that it read before.
    assert wait_until(is_refused)
