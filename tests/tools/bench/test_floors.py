"""The floors do the same work, give the same answers and run the same way as the service."""

from collections.abc import Callable
from typing import Any

import orjson
import pytest
from django.db import connection
from django.http import HttpRequest, HttpResponse
from django.test import RequestFactory

from accounts.models import ApiKey, Company
from billing.wallet import ledger
from channels.models import Message
from links.follow import redirect
from links.models import Link
from otp import codes
from otp.models import Verification
from tests.api.clients import Api
from tests.factories import VerificationFactory
from tools.bench.floors import hello, views
from tools.stack import seed
from tools.stack.stack import Account

View = Callable[[HttpRequest], HttpResponse]


def ask(view: View, **body: object) -> tuple[int, dict[str, Any]]:
    request = RequestFactory().post("/", orjson.dumps(body), content_type="application/json")
    response = view(request)
    return response.status_code, orjson.loads(response.content)


def is_alike(floor: dict[str, Any], ours: dict[str, Any]) -> bool:
    """Whether both have the same fields, and sizes that differ by at most a tenth."""
    sizes = [len(orjson.dumps(body)) for body in (floor, ours)]
    return floor.keys() == ours.keys() and abs(sizes[0] - sizes[1]) <= sizes[1] / 10


def guess(verification: Verification, code: str) -> str:
    return codes.mac(
        key_id=codes.current_key(),
        company_id=verification.company_id,
        mode="live",
        phone=verification.phone,
        purpose="verification",
        code=code,
    ).hex()


def live(company: Company) -> Verification:
    verification: Verification = VerificationFactory.build(company=company)
    verification.key_id = codes.current_key()
    verification.mac = bytes.fromhex(guess(verification, "123456"))
    verification.save()
    return verification


@pytest.mark.parametrize(("code", "status"), [("123456", 200), ("000000", 422)])
def test_floor_of_verify_equals_the_product(
    company: Company, api: Api, code: str, status: int
) -> None:
    here = live(company)
    there = live(company)

    floor = ask(views.verify, company_id=company.pk, phone=here.phone, mac=guess(here, code))
    ours = api.post("/otp/verify", {"phone": there.phone, "code": code})

    assert (floor[0], ours.status) == (status, status)
    assert is_alike(floor[1], ours.body)
    here.refresh_from_db()
    there.refresh_from_db()
    assert (here.attempts, here.verified_at is None) == (1, status == 422)
    assert (there.attempts, there.verified_at is None) == (1, status == 422)


def test_floor_of_send_equals_the_product(company: Company, api: Api) -> None:
    key = ApiKey.objects.get(company=company)

    floor = ask(views.send, company_id=company.pk, key_id=key.pk, phone="+79160000001")
    ours = api.post("/otp/send", {"phone": "+79160000002", "channel": "whatsapp"})

    assert (floor[0], ours.status) == (200, 200)
    assert is_alike(floor[1], ours.body)
    written = Message.objects.order_by("phone").values_list("state", "price", "channel", "kind")
    assert list(written) == [("queued", 1, "whatsapp", "code")] * 2
    assert ledger.balance(company.pk)[1] == 2


def test_floor_of_shorten_equals_the_product(company: Company, api: Api) -> None:
    floor = ask(views.shorten, company_id=company.pk, url=hello.URL)
    ours = api.post("/links/shorten", {"url": hello.URL})

    assert (floor[0], ours.status) == (200, 200)
    assert is_alike(floor[1], ours.body)
    assert list(Link.objects.values_list("url", flat=True)) == [hello.URL] * 2


def test_floor_of_bulk_equals_the_product(company: Company, api: Api) -> None:
    links = [{"url": f"{hello.URL}&n={number}"} for number in range(3)]

    floor = ask(views.bulk, company_id=company.pk, links=links)
    ours = api.post("/links/bulk", {"links": links})

    assert (floor[0], ours.status) == (200, 200)
    assert floor[1].keys() == ours.body.keys()
    assert [row["url"] for row in floor[1]["data"]] == [link["url"] for link in links]
    assert floor[1]["data"][0].keys() <= ours.body["data"][0].keys()
    assert Link.objects.count() == 6


@pytest.mark.parametrize("is_there", [True, False])
def test_floor_of_follow_equals_the_product(company: Company, *, is_there: bool) -> None:
    connection.ensure_connection()
    account = Account(company.pk, 0, "")
    made = seed.links(connection.connection, account, 1, url=hello.URL)
    slug = made[0] if is_there else "nobodys"

    floor = views.follow(RequestFactory().get("/"), slug)

    ours = redirect.respond(slug, {"REQUEST_METHOD": "GET"})
    assert floor.status_code == int(ours.status[:3]) == (302 if is_there else 404)
    assert floor.headers.get("Location") == dict(ours.headers).get("Location")
