"""The cabinet's pages answer queries and rows with odd values."""

from collections.abc import Iterator

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from tests.cabinet.pages import create_content
from tests.cabinet.routes import CABINET, PERSON, address
from tests.factories import CompanyFactory, MemberFactory
from tests.odd_values.sweep import Sweep
from tests.odd_values.values import ALONE, TEXTS, WORST
from tests.reauthentication import mark_reauthenticated


@pytest.fixture
def full_company(db: None) -> Company:
    company = CompanyFactory.create()
    create_content(company)
    return company


@pytest.fixture
def sweep(client: Client, full_company: Company) -> Iterator[Sweep]:
    owner = MemberFactory.create(company=full_company).user
    client.force_login(owner)
    mark_reauthenticated(client, owner)
    with Sweep(client).listening() as sweep:
        yield sweep


PARTS = 4


def paths(company: Company) -> list[str]:
    return [address(name, company) for name in CABINET] + [reverse(name) for name in sorted(PERSON)]


def posted(company: Company) -> list[str]:
    changed = [address(name, company) for name, route in CABINET.items() if route.change]
    return changed + [reverse(name) for name in sorted(PERSON)]


@pytest.mark.parametrize("part", range(PARTS))
def test_pages_survive_extreme_values(sweep: Sweep, full_company: Company, part: int) -> None:
    sweep.read(paths(full_company)[part::PARTS], posted(full_company)[part::PARTS])
    sweep.all_queries(WORST[:2])
    sweep.all_forms(WORST[:2], [])

    assert sweep.failed == {}


@pytest.mark.timeout(1800)
@pytest.mark.parametrize("part", range(PARTS))
def test_pages_handle_odd_values(sweep: Sweep, full_company: Company, part: int) -> None:
    sweep.read(paths(full_company)[part::PARTS], posted(full_company)[part::PARTS])
    sweep.all_queries(TEXTS)
    sweep.all_forms(TEXTS, ALONE)

    assert sweep.failed == {}
