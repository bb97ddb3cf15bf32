"""Every field, query parameter and path of every declared call."""

from collections.abc import Iterator, Sequence
from typing import Any
from urllib.parse import quote

import orjson
import pytest
from django.test import Client

from accounts.models import Company, every_scope
from api.calls import Call
from api_docs.calls import CALLS
from billing.wallet import ledger
from tests.cabinet.pages import create_content
from tests.factories import ApiKeyFactory, CompanyFactory
from tests.odd_values.sweep import Sweep
from tests.odd_values.values import ALONE, BODIES, JSON, TEXTS, WORST, WORST_JSON

pytestmark = pytest.mark.usefixtures("queued_at_once")


@pytest.fixture
def company(db: None) -> Company:
    company = CompanyFactory.create()
    create_content(company)
    ledger.grant(company=company, amount=100_000, reason="test")
    return company


@pytest.fixture
def sweep(company: Company) -> Iterator[Sweep]:
    key = ApiKeyFactory.create(company=company, scopes=every_scope())
    client = Client(headers={"Authorization": f"Bearer {key.plaintext}"})
    with Sweep(client).listening() as sweep:
        yield sweep


def objects(company: Company, call: Call) -> str:
    """The call's path, with an object of the company in it."""
    result: dict[str, Any] = {
        "links": company.links.get(clicks=3).public_id,
        "messages": company.messages.all()[0].public_id,
        "webhooks": company.endpoints.all()[0].public_id,
        "top-up": company.orders.all()[0].public_id,
        "batches": company.links.exclude(batch_id=None)[0].batch,
    }
    return call.path.replace("{id}", str(result.get(call.path.split("/")[1], "x")))


def bodies(call: Call, values: Sequence[bytes]) -> Iterator[bytes]:
    good = {field.name: orjson.dumps(field.example) for field in call.body if field.required}
    for field in call.body:
        for value in values:
            yield _object(good | {field.name: value})
            if field.schema["type"] == "array" and field.fields:
                yield from (
                    _object(good | {field.name: b"[" + _object({inner.name: value}) + b"]"})
                    for inner in field.fields
                )


def _object(members: dict[str, bytes]) -> bytes:
    return b"{" + b",".join(b'"%s":%s' % (name.encode(), v) for name, v in members.items()) + b"}"


def try_all(
    sweep: Sweep, company: Company, values: Sequence[bytes], texts: Sequence[str]
) -> dict[str, str]:
    for call in CALLS:
        path = f"/api/v1{objects(company, call)}"
        method = call.method.lower()
        sent = [*bodies(call, values), *(BODIES if call.body else ())]
        for body in sent:
            sweep.ask(method, path, body, content_type="application/json", note=f"{body[:60]!r}")
        for field in call.query or ():
            for text in texts:
                sweep.ask(method, path, query_params={field.name: text}, note=f"{field.name}")
        content: dict[str, Any] = (
            {} if method == "get" else {"data": b"{}", "content_type": "application/json"}
        )
        for text in texts if "{id}" in call.path else ():
            odd = f"/api/v1{call.path}".replace("{id}", quote(text.replace("/", "")) or "x")
            sweep.ask(method, odd, note="id", **content)
            once = {"Idempotency-Key": "once"}
            sweep.ask(method, odd, note="id, once", headers=once, **content)
        for text in texts:
            header = {"Idempotency-Key": text.replace("\r\n", "")[:300]}
            sweep.ask(method, path, headers=header, **content)
    return sweep.failed


def test_calls_survive_extreme_values(sweep: Sweep, company: Company) -> None:
    assert try_all(sweep, company, WORST_JSON, [*WORST[:4], *ALONE]) == {}


@pytest.mark.timeout(1800)
def test_calls_handle_odd_values(sweep: Sweep, company: Company) -> None:
    assert try_all(sweep, company, JSON, TEXTS) == {}
