"""Stops without a signal, or changed concurrently: the table decides."""

from concurrent.futures import ThreadPoolExecutor

import pytest
from django.db import DatabaseError, transaction

from accounts.models import AuditEvent
from catalogue.errors import DomainError, Error
from links.follow import change_feed, resolution
from links.follow.cached_row import GONE, LinkTarget
from links.follow.change_feed import StopCache
from links.follow.resolution import Resolver
from links.manage import stopping
from links.models import Link, Stop
from tests.api.blocking import start_blocked
from tests.factories import LinkFactory
from tests.links.visiting import wait_until

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def link() -> Link:
    return LinkFactory.create()


class Failing(StopCache):
    """A cache of stops that cannot read them while PostgreSQL is unavailable."""

    is_away = False
    readings = 0
    failures = 0

    def _read_value(self) -> None:
        self.readings += 1
        if self.is_away:
            self.failures += 1
            raise DatabaseError
        super()._read_value()


def test_unpublished_stop_and_release_take_effect(link: Link) -> None:
    other = Resolver(StopCache())
    assert isinstance(other.resolve(link.slug), LinkTarget)

    row = Stop.objects.create(company=link.company)  # and the process died
    is_stopped = wait_until(lambda: other.resolve(link.slug) is GONE)
    row.delete()

    assert is_stopped
    assert wait_until(lambda: isinstance(other.resolve(link.slug), LinkTarget))


def test_repeated_stop_publishes_a_missed_change(
    link: Link, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(change_feed, "STOPS_REFRESH_INTERVAL", float("inf"))
    assert isinstance(resolution.resolve(link.slug), LinkTarget)

    row = Stop.objects.create(company=link.company)
    results = [stopping.stop(company=link.company), resolution.resolve(link.slug) is GONE]
    row.delete()
    results += [stopping.release(company=link.company), resolution.resolve(link.slug) is GONE]

    assert results == [False, True, False, False]
    assert not AuditEvent.objects.exists()


def test_failed_read_of_stops_is_retried(link: Link) -> None:
    stops = Failing()
    other = Resolver(stops)
    other.resolve(link.slug)
    assert wait_until(lambda: stops.readings >= 2)  # that of the subscription, too

    stops.is_away = True
    stopping.stop(company=link.company)
    has_failed = wait_until(lambda: stops.failures > 0)
    stops.is_away = False

    assert has_failed
    assert wait_until(lambda: other.resolve(link.slug) is GONE)


@pytest.mark.parametrize("was_stopped", [True, False])
def test_release_concurrent_with_an_operators_stop_is_refused(
    link: Link, *, was_stopped: bool
) -> None:
    if was_stopped:
        stopping.stop(company=link.company)
    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            stopping.stop(company=link.company, by_operator=True)
            released = start_blocked(pool, lambda: stopping.release(company=link.company))
        refusal = released.exception(10)

    assert isinstance(refusal, DomainError)
    assert refusal.error is Error.FORBIDDEN
    assert list(Stop.objects.values_list("is_operators", flat=True)) == [True]


def test_operators_stop_survives_a_concurrent_release(link: Link) -> None:
    stopping.stop(company=link.company)

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():
            stopping.release(company=link.company)
            stopped = start_blocked(
                pool, lambda: stopping.stop(company=link.company, by_operator=True)
            )
        is_new = stopped.result(25)

    assert is_new
    assert list(Stop.objects.values_list("is_operators", flat=True)) == [True]
