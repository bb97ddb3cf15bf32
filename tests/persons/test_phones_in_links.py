"""Links that name a person, in whatever spelling and whomever they were sent to."""

import time
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from django.test import Client
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import Company, Member
from channels.models import Message
from links import link_imports
from links.models import ErasedClicks, Link, LinkImport
from persons import erasure_list, person
from persons.erasure import erase, reapply_erasures
from persons.export import export
from persons.models import Erasure
from persons.person import Person
from tests.api.clients import Api
from tests.factories import CompanyFactory, EventFactory, LinkFactory
from tests.operator_admin.operators import make_operator, sign_in
from tests.persons.traces import PHONE, create_all_data, rows_naming

pytestmark = pytest.mark.django_db

NAMING = [
    "https://wa.me/79161234567",
    "https://shop.example/?tel=%2B7%20(916)%20123-45-67&sig=1",
    "https://shop.example/?tel=%252B7916%2d1234567",
    "https://shop.example/79161234567/77",
    "https://shop.example/2026/11/28/8-916-123-45-67/",
    "https://shop.example/7/916/123/45/67",
    "https://shop.example/#9161234567",
    "https://shop.example/#007.916.123.45.67.0",
    "https://shop.example/?t=7%7E916%C2%B7123%E2%80%8B45%5B67%5D",
    "https://shop.example/%37%39%31%36%31%32%33%34%35%36%37",
    "https://shop.example/%EF%BC%97%EF%BC%99161234567",
    "https://shop.example/%ef%bc%97%ef%bc%99161%d9%a2%d9%a3%d9%a4%d9%a5%d9%a6%d9%a7",
    "https://79161234567.example.com/",
]
OTHERS = [
    "https://shop.example/order/179161234567",
    "https://shop.example/?sig=791612345678",
    "https://shop.example/?tel=79171234567",
    "https://shop.example/4567",
    "https://wa.me/380441234567",
]


def _make(company: Company, urls: list[str]) -> set[UUID]:
    return {LinkFactory.create(company=company, url=url).pk for url in urls}


def test_links_that_name_the_person_are_erased_and_no_others(company: Company) -> None:
    naming = _make(company, NAMING)
    others = _make(company, OTHERS)
    naming.add(LinkFactory.create(company=company, utm="utm_term=%2B79161234567").pk)
    naming.add(LinkFactory.create(company=company, expired_url=NAMING[0]).pk)

    counts = erase(person=Person(PHONE, company.pk, "live"))

    erased = set(Link.objects.filter(url="about:blank").values_list("pk", flat=True))
    assert (erased - naming, naming - erased) == (set(), set())
    assert counts["links"] == len(naming)
    assert others & erased == set()
    assert {link.state for link in Link.objects.filter(pk__in=naming)} == {"disabled"}


@pytest.mark.parametrize("name", ["79161234567", "promo89161234567x", "8-916-123-45-67_vip"])
def test_alias_that_names_the_person_is_erased(company: Company, name: str) -> None:
    link, other = (
        LinkFactory.create(company=company, slug=slug, key=slug, is_alias=True)
        for slug in (name, "promo-2026-11")
    )

    erase(person=Person(PHONE, company.pk, "live"))

    link.refresh_from_db()
    assert (link.slug, link.key, link.state) == (str(link.pk), str(link.pk), "disabled")
    assert list(Link.objects.exclude(pk=link.pk)) == [other]
    assert Link.objects.get(pk=other.pk).url == other.url


@pytest.mark.usefixtures("queued_at_once")
def test_stored_answers_and_click_events_lose_the_links_of_the_person(api: Api) -> None:
    digits = PHONE.removeprefix("+")
    named = {"url": f"https://shop.example/?p={digits}", "alias": f"u-{digits}"}
    other = {"url": "https://shop.example/1"}
    calls: list[tuple[str, dict[str, Any]]] = [
        ("/links/shorten", named),
        ("/links/bulk", {"links": [named | {"alias": f"v-{digits}"}, other]}),
        ("/links/send", {"phone": PHONE, **other, "alias": f"w-{digits}"}),
    ]
    before = [api.post(path, body, idempotency_key="k").body for path, body in calls]
    Message.objects.update(state="delivered", due_at=None, finished_at=timezone.now(), price=0)
    link = Link.objects.get(slug=named["alias"])
    clicked = {"id": link.public_id, "short_url": link.short_url, "url": link.url}
    EventFactory.create(company=api.company, kind="link.clicked", key="c", data=clicked)

    erase(person=Person(PHONE, api.company.pk, "live"))

    after = [api.post(path, body, idempotency_key="k").body for path, body in calls]
    assert [rows_naming(PHONE, name) for name in ("api_idempotentrequest", "webhooks_event")] == [
        0,
        0,
    ]
    assert [response.get("id") for response in after] == [response.get("id") for response in before]
    assert after[1]["data"][1] == before[1]["data"][1]
    assert (after[0]["url"], after[1]["data"][0]["url"]) == ("about:blank", "about:blank")


@pytest.mark.parametrize(
    ("phone", "target", "country"),
    [
        ("+5511987654321", "551187654321", "BR"),
        ("+525512345678", "5215512345678", "MX"),
        ("+442079460018", "+44%20(0)20%207946%200018", "GB"),
        ("+6834002", "6834002", "NU"),
    ],
)
def test_other_spellings_of_the_phone_are_found(phone: str, target: str, country: str) -> None:
    company = CompanyFactory.create(country=country)
    _make(company, [f"https://shop.example/?tel={target}"])

    assert erase(person=Person(phone))["links"] == 1


def test_links_of_others_and_of_the_other_mode_stay(company: Company) -> None:
    kept = _make(CompanyFactory.create(), NAMING[:1])
    kept.add(LinkFactory.create(company=company, mode="test", url=NAMING[0]).pk)

    assert erase(person=Person(PHONE, company.pk, "live"))["links"] == 0
    assert not Link.objects.filter(pk__in=kept, url="about:blank").exists()


@pytest.mark.parametrize("is_restored", [False, True])
def test_import_that_runs_on_makes_no_link_of_the_person(
    owner: Member, is_restored: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(link_imports, "BATCH_SIZE", 1)
    file = f"{OTHERS[2]}\n{NAMING[1]}\n{OTHERS[3]},79161234567\n{OTHERS[4]}\n".encode()
    company = owner.company
    user = owner.user
    one = link_imports.upload(company=company, user=user, mode="live", name="x", content=file)
    link_imports.start(link_import=one, user=user, ip=None)
    link_imports.make_next()
    person = Person(PHONE, company.pk, "live")
    if is_restored:
        erasure_list.add(person)
        LinkImport.objects.update(created_at=timezone.now() - timedelta(minutes=1))
        reapply_erasures()
    else:
        erase(person=person)

    while link_imports.make_next():
        pass

    one.refresh_from_db()
    assert set(Link.objects.values_list("url", flat=True)) == {OTHERS[2], OTHERS[4]}
    assert (one.state, one.made, one.refused) == ("done", 2, 2)
    assert Erasure.objects.count() == 1
    assert rows_naming(PHONE, "links_linkimportrow") == 0


def test_links_that_name_the_person_are_exported(company: Company) -> None:
    _make(company, [NAMING[1], OTHERS[0]])

    data = export(person=Person(PHONE, company.pk, "live"))["data"]

    assert [link["url"] for link in data["links"]] == [NAMING[1]]


def test_api_erases_a_link_that_it_made_and_sent_to_nobody(api: Api) -> None:
    link = api.post("/links/shorten", {"url": NAMING[1]}).body

    erased = api.post("/persons/erase", {"phone": PHONE}).body["erased"]

    assert erased == {"messages": 0, "verifications": 0, "links": 1}
    assert api.get(f"/links/{link['id']}").body["state"] == "disabled"
    assert Link.objects.get().url == "about:blank"


def test_operator_erases_links_and_sees_how_many_before(client: Client, company: Company) -> None:
    _make(company, NAMING[:3])
    sign_in(client, make_operator(), "password", "mfa")

    page = client.post(reverse("admin:persons"), {"phone": PHONE, "erase": "1"})
    client.post(reverse("admin:persons"), {"phone": PHONE, "confirmed": "yes"})

    assert (page.context["links"], page.context["companies"]) == (3, 1)
    assert Link.objects.filter(url="about:blank").count() == 3


def test_link_that_a_backup_brings_back_is_erased_again(company: Company) -> None:
    (pk,) = _make(company, [NAMING[4]])
    erase(person=Person(PHONE, company.pk, "live"))
    assert Erasure.objects.count() == 1
    earlier = timezone.now() - timedelta(minutes=1)
    Link.objects.filter(pk=pk).update(url=NAMING[4], created_at=earlier)

    assert reapply_erasures().erased == 1

    assert Link.objects.get(pk=pk).url == "about:blank"


def test_numbers_are_read_in_time_in_proportion_to_the_text() -> None:
    started = time.process_time()
    for text in ("1/" * 10_000, "1" * 20_000, "12345678/" * 2_000):
        assert person.contains_phone(text, PHONE, "RU") is False
    assert time.process_time() - started < 2


def test_pattern_brings_few_links_that_name_somebody_else(company: Company) -> None:
    """The database skips links with other last digits, so the parser reads few."""
    Link.objects.bulk_create(
        LinkFactory.build(company=company, url=f"https://shop.example/{79160000000 + 9973 * n}")
        for n in range(1000)
    )
    with connection.cursor() as cursor:
        candidates = person.candidates(cursor, Person(PHONE, company.pk), None)

    assert len(candidates) <= 1


@pytest.mark.parametrize("url", ["", "http://127.0.0.1:1/"])
def test_links_are_noted_for_clickhouse(company: Company, settings: Settings, url: str) -> None:
    settings.CLICKHOUSE_URL = url
    create_all_data(company)

    erase(person=Person(PHONE))

    closed = Link.objects.filter(url="about:blank").values_list("id", flat=True)
    noted = ErasedClicks.objects.filter(is_gone=False).values_list("link_id", flat=True)
    assert closed
    assert set(noted) == (set(closed) if url else set())


def test_link_of_the_person_is_closed_and_leads_nowhere(company: Company) -> None:
    message = create_all_data(company)

    erase(person=Person(PHONE))

    link = Link.objects.get(message_id=message.pk)
    assert (link.url, link.utm, link.expired_url) == ("about:blank", "", "")
    assert link.state == "disabled"
