"""An upgrade from the last release under load: no request fails, nothing is lost or paid twice."""

import os
from pathlib import Path

import pytest

from config.environment.variables import ROOT
from tests.stack.programs import wait_until
from tests.upgrade.conftest import Upgrade
from tests.upgrade.generation import Generation
from tests.upgrade.traffic import Traffic
from tests.webhooks.receivers import Receiver


@pytest.mark.long
@pytest.mark.timeout(400)  # under a minute on two idle cores, many times that on busy ones
def test_upgrade_under_load_loses_nothing(upgrade: Upgrade, receiver: Receiver) -> None:
    old = upgrade.old
    new = upgrade.new
    traffic = upgrade.traffic
    tokens = traffic.get("/balance")["available"]
    endpoint = traffic.post("/webhooks", {"url": receiver.url, "events": ["message.delivered"]})
    waiting = [traffic.send_code() for _ in range(3)]

    with traffic.flowing():
        traffic.keep_on("old processes")
        traffic.phase = "migrate"
        upgrade.database.migrate(new)
        traffic.keep_on("old processes, migrated")
        new.start()
        upgrade.balancer.use(old.url, new.url)
        traffic.keep_on("both", rounds=12)  # a hundred requests, to each in turn
        upgrade.balancer.use(new.url)
        old.stop()
        traffic.keep_on("new processes")
    for phone in waiting:
        traffic.enter_code(phone)

    assert traffic.failures == []
    assert old.errors() + new.errors() == []
    assert_delivered_once(traffic)
    assert_charged_once(traffic, tokens)
    assert_clicks_counted(traffic)
    assert_company_told(traffic, receiver, endpoint["secret"])
    new.manage("reconcile")


def test_workers_know_every_task_of_the_last_release(release_tree: Path, tmp_path: Path) -> None:
    """Its beat and web processes publish them, and some wait in the broker."""
    old = Generation("old", release_tree, os.environ, tmp_path)
    new = Generation("new", ROOT, os.environ, tmp_path)

    assert old.tasks() - new.tasks() == set()
    assert len(old.tasks()) > 10


def assert_delivered_once(traffic: Traffic) -> None:
    def states() -> dict[str, str]:
        return {message["id"]: message["status"] for message in traffic.messages()}

    wait_until(
        lambda: states() == dict.fromkeys(traffic.phones, "delivered"), 30, on_timeout=states
    )
    copies = {phone: len(traffic.carrier.messages(phone)) for phone in traffic.phones.values()}
    assert {phone: count for phone, count in copies.items() if count != 1} == {}


def assert_charged_once(traffic: Traffic, tokens: int) -> None:
    cost = sum(message["cost"] for message in traffic.messages())
    wait_until(
        lambda: traffic.get("/balance")["held"] == 0, on_timeout=lambda: traffic.get("/balance")
    )

    assert traffic.get("/balance")["available"] == tokens - cost


def assert_clicks_counted(traffic: Traffic) -> None:
    def counted() -> dict[str, int]:
        links = [traffic.get(f"/links/{id_}") for id_ in traffic.links]
        return {link["id"]: link["clicks"] + link["previews"] + link["scanners"] for link in links}

    wait_until(lambda: counted() == traffic.links, 30, on_timeout=counted)


def assert_company_told(traffic: Traffic, receiver: Receiver, secret: str) -> None:
    def told() -> list[str]:
        """A message for each event, however often it was posted."""
        events = {call.id: call.verified(secret)["data"]["id"] for call in list(receiver.calls)}
        return sorted(events.values())

    wait_until(lambda: told() == sorted(traffic.phones), 30, on_timeout=told)
