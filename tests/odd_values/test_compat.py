"""Every parameter of the calls that other services' clients make, Twilio's by name."""

from urllib.parse import quote

import pytest

from accounts.models import Company, Mode
from api.calls import Field
from billing.wallet import ledger
from compat.dialect import Dialect, dialects
from compat.twilio import fields
from tests.compat.clients import DialectClient
from tests.compat.twilio.client import PHONE, Twilio
from tests.odd_values.values import ALONE, WORST

pytestmark = [pytest.mark.usefixtures("queued_at_once"), pytest.mark.long]
VALUES = [*WORST[:6], *ALONE]


ROWS = [value if isinstance(value, tuple) else (value,) for value in vars(fields).values()]
NAMES = sorted({field.name for row in ROWS for field in row if isinstance(field, Field)})


@pytest.fixture
def twilio(company: Company, monkeypatch: pytest.MonkeyPatch) -> Twilio:
    monkeypatch.setattr("django.db.connection.close", lambda: None, raising=False)
    ledger.grant(company=company, amount=100_000, reason="test")
    return Twilio(company, mode=Mode.TEST)


@pytest.mark.parametrize("name", NAMES)
def test_twilios_forms_survive_extreme_values(twilio: Twilio, name: str) -> None:
    sid = twilio.create().body["sid"]
    for value in VALUES:
        responses = [
            twilio.create(**{name: value}),
            twilio.check("000000", **{"To": PHONE, name: value}),
            twilio.form(f"{twilio.service}/Verifications/{sid}", {"Status": "x", name: value}),
        ]
        assert all(response.status < 500 for response in responses), value[:50]


@pytest.mark.parametrize("name", NAMES)
def test_twilios_queries_survive_extreme_values(twilio: Twilio, name: str) -> None:
    for value in VALUES:
        for path in ("/v2/Attempts", "/v2/Attempts/Summary"):
            assert twilio.get(f"{path}?{name}={quote(value)}").status < 500, value[:50]


@pytest.mark.parametrize("dialect", dialects().values(), ids=lambda dialect: dialect.name)
def test_paths_survive_extreme_values(dialect: Dialect, twilio: Twilio) -> None:
    for value in VALUES:
        odd = quote(value.replace("/", ""))[:2000]
        for path in (f"/{odd}", f"/v2/{odd}", f"/v2/Services/{odd}/Verifications/{odd}"):
            client = DialectClient(dialect, None)
            client.headers = twilio.headers
            assert client.call("GET", path).status < 500, value[:50]
