"""The admin's pages of hosts of short links."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from accounts.models import Company
from catalogue.errors import DomainError
from links.addresses import short_hosts, target_urls
from links.manage import changes
from links.manage.changes import Change
from links.models import BlockedHost, Link, ShortHost
from tests.factories import CompanyFactory, LinkFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("operator")]
HOSTS = "admin:links_shorthost"
SITES = "admin:links_blockedhost"
HOST = "go.brand.example"
SITE = "fraud.example"


def add_host(client: Client, name: str) -> Any:
    company = CompanyFactory.create()
    return client.post(reverse(f"{HOSTS}_add"), {"host": name, "company": company.pk})


@pytest.mark.parametrize(
    ("typed", "kept"),
    [("GO.Brand.example.", "go.brand.example"), ("сайт.рф", "xn--80aswg.xn--p1ai")],
)
def test_host_is_stored_in_ascii_and_usable_at_once(client: Client, typed: str, kept: str) -> None:
    short_hosts.find(kept)

    assert add_host(client, typed).status_code == 302

    assert ShortHost.objects.get().host == kept
    assert short_hosts.find(kept) is not None


@pytest.mark.parametrize(
    "name",
    [
        "https://go.brand.example",
        "go.brand.example:8443",
        "a b",
        "localhost",
        "127.0.0.1",
        "taken.example",
        "www.taken.example",
    ],
)
def test_malformed_link_host_is_refused(client: Client, name: str) -> None:
    ShortHost.objects.create(host="taken.example", company=CompanyFactory.create())

    response = add_host(client, name)

    assert list(response.context["adminform"].form.errors) == ["host"]
    assert ShortHost.objects.count() == 1


def test_service_s_own_hosts_are_refused(client: Client, settings: Any) -> None:
    settings.SHORT_URL = "https://go.kvitok.example"
    settings.PUBLIC_URL = "https://kvitok.example"

    for name in ("go.kvitok.example", "www.kvitok.example"):
        assert list(add_host(client, name).context["adminform"].form.errors) == ["host"]


def test_host_with_links_stays(client: Client) -> None:
    host = ShortHost.objects.create(host=HOST, company=CompanyFactory.create())
    LinkFactory.create(company=host.company, host=host, key=f"{host.pk}/x")
    path = reverse(f"{HOSTS}_delete", args=[host.pk])

    shown = client.get(path)
    response = client.post(path, {"post": "yes"})

    assert "перестанут" in shown.content.decode()
    assert response.status_code == 200
    assert ShortHost.objects.filter(pk=host.pk).exists()


def test_host_without_links_is_deleted_and_no_longer_a_default(client: Client) -> None:
    company = CompanyFactory.create(link_host=HOST)
    host = ShortHost.objects.create(host=HOST, company=company)

    client.post(reverse(f"{HOSTS}_delete", args=[host.pk]), {"post": "yes"})

    assert Company.objects.get(pk=company.pk).link_host == ""
    assert short_hosts.find(HOST) is None


def test_blocked_site_is_refused_until_unblocked(client: Client) -> None:
    target_urls.check_target(f"https://{SITE}/")

    client.post(reverse(f"{SITES}_add"), {"host": "Fraud.Example", "reason": "phishing"})
    with pytest.raises(DomainError):
        target_urls.check_target(f"https://{SITE}/")
    site = BlockedHost.objects.get()
    client.post(reverse(f"{SITES}_delete", args=[site.pk]), {"post": "yes"})

    assert target_urls.check_target(f"https://{SITE}/") == f"https://{SITE}/"


def test_links_that_lead_there_are_disabled_after_a_question(client: Client) -> None:
    site = BlockedHost.objects.create(host=SITE)
    link = LinkFactory.create(url=f"https://www.{SITE}/x")
    LinkFactory.create()
    asked = {"action": "disable_links", "_selected_action": [site.pk]}

    question = client.post(reverse(f"{SITES}_changelist"), asked)
    assert "1 ссылка" in question.content.decode()
    assert not Link.objects.exclude(disabled_at=None).exists()
    confirmed = client.post(reverse(f"{SITES}_changelist"), asked | {"confirmed": "1"}, follow=True)

    assert "Выключена 1 ссылка" in confirmed.content.decode()
    assert Link.objects.exclude(disabled_at=None).get() == link
    assert link.company.audit.get().action == "links.blocked"
    for by_operator, code in ((False, "forbidden"), (True, "url_not_allowed")):
        with pytest.raises(DomainError) as refusal:
            changes.change(link=link, new_values=Change(is_enabled=True, by_operator=by_operator))
        assert refusal.value.error.code == code
