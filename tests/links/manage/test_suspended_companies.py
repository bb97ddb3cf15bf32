"""Links of a suspended company stay as they are: their visitors are led nowhere else."""

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from accounts.models import Company, Member
from catalogue.ids import uuid7
from links.manage import stopping
from links.models import Link, Stop
from tests.cabinet.pages import create_content
from tests.cabinet.routes import CABINET, NOBODY, address
from tests.factories import LinkFactory, MemberFactory

pytestmark = pytest.mark.django_db
ENDING = {"link-stop-all", "link-batch-stop", "link-disable"}
CHANGING = sorted(
    name
    for name, route in CABINET.items()
    if name.startswith("link-") and route.change != NOBODY and name not in ENDING
)
FORM = {"url": "https://phishing.example/", "lifetime": "", "expired_url": "https://late.example/"}


@pytest.fixture
def company(client: Client) -> Company:
    owner = MemberFactory.create(role=Member.Role.OWNER)
    create_content(owner.company)
    Company.objects.update(status=Company.Status.SUSPENDED)
    client.force_login(owner.user)
    return owner.company


def rows(company: Company) -> list[tuple[object, ...]]:
    links = company.links.order_by("pk")
    return [
        *links.values_list("url", "expired_url", "expires_at", "disabled_at"),
        *company.link_stops.values_list("batch_id"),
    ]


@pytest.mark.parametrize("is_off", [False, True])
def test_no_page_changes_links(client: Client, company: Company, is_off: bool) -> None:
    if is_off:
        company.links.update(disabled_at=timezone.now())
        Stop.objects.create(company=company)
        for batch in set(company.links.exclude(batch_id=None).values_list("batch_id", flat=True)):
            Stop.objects.get_or_create(company=company, batch_id=batch)
    before = rows(company)

    for name in CHANGING:
        with transaction.atomic():
            response = client.post(address(name, company), FORM)
            assert response.status_code in {200, 302}, name
            assert rows(company) == before, name
            transaction.set_rollback(True)


def test_links_can_be_ended(client: Client, company: Company) -> None:
    link = LinkFactory.create(company=company, batch_id=uuid7())

    client.post(reverse("link-disable", args=[link.public_id]))
    client.post(reverse("link-batch-stop", args=[link.batch]))

    assert Link.objects.get(pk=link.pk).disabled_at is not None
    assert company.link_stops.filter(batch_id=link.batch_id).exists()


def test_operator_releases_links_of_a_suspended_company(company: Company) -> None:
    stopping.stop(company=company)

    assert stopping.release(company=company, by_operator=True)
