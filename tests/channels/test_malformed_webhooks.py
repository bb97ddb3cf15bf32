"""Signed webhooks with arbitrary field values never cause a 500."""

import copy
from collections.abc import Iterator
from contextlib import suppress
from functools import cache
from typing import Any
from urllib.parse import parse_qsl, urlencode

import orjson
import pytest
from django.conf import settings as configured
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis
from hypothesis import strategies as st
from pytest_django import Settings

from channels.models import BlockedPhone, Contact, KnownRecipient
from channels.outcomes import due_receipts
from channels.providers.http import MAX_FORM
from channels.providers.inbound import InvalidWebhookError, WebhookRequest
from channels.providers.vendors import VENDORS
from channels.vendor_accounts import registry
from tests.channels.accounts import set_account
from tests.channels.providers import vendors

pytestmark = pytest.mark.django_db

Path = tuple[str | int, ...]
TEXTS = [
    "",
    " ",
    "0",
    "-1",
    "9" * 500,
    "+" + "7" * 500,
    "1" * 16,
    "x" * 10_000,
    "\0",
    "a\0b",
    "\n",
    "\ud800",
    "٣٤٥٦٧٨٩٠",
    "１６３１５５５１２３４",
    "STOP",
    "1e400",
    "99999999999",
    "٢",
    "²",
    "%00",
]
NUMBERS = [0, -1, 2**31, 2**53, 2**63, 2**64 - 1, 99_999_999_999, 1.5, 1e300]
VALUES: list[Any] = [*TEXTS, *NUMBERS, None, True, [], {}, [[]], [None], [{}], {"id": {}}, [["a"]]]
CALLERS = [name for name, vendor in vendors.VENDORS.items() if vendor.webhook_body]


@cache
def genuine_payloads(vendor: str) -> list[Any]:
    """Returns the vendor's genuine calls and answers: the fields of forms, otherwise JSON."""
    files = sorted((vendors.PAYLOADS / vendor).iterdir())
    forms = [dict(parse_qsl(file.read_text())) for file in files if file.suffix == ".form"]
    return forms or [orjson.loads(file.read_bytes()) for file in files]


def is_form(vendor: str) -> bool:
    return any((vendors.PAYLOADS / vendor).glob("*.form"))


def signed(vendor: str, body: bytes) -> WebhookRequest:
    """Returns a call signed with the secret of the account in the settings."""
    signer = vendors.VENDORS[vendor]
    return signer.call(body, configured.PROVIDER_ACCOUNTS[vendor][signer.secret_setting])


def paths(value: Any, prefix: Path = ()) -> Iterator[Path]:
    yield prefix
    items: Any = ()
    if isinstance(value, dict):
        items = value.items()
    elif isinstance(value, list):
        items = enumerate(value)
    for key, inner in items:
        yield from paths(inner, (*prefix, key))


def replaced(value: Any, path: Path, hostile: Any) -> Any:
    if not path:
        return hostile
    changed = copy.copy(value)
    changed[path[0]] = replaced(value[path[0]], path[1:], hostile)
    return changed


def body_of(vendor: str, parsed: Any) -> bytes:
    if not is_form(vendor):
        try:
            return orjson.dumps(parsed)
        except (TypeError, orjson.JSONEncodeError):  # a lone surrogate, which JSON can spell
            return orjson.dumps("x").replace(b"x", b"\\ud800")
    if not isinstance(parsed, dict):
        return str(parsed).encode(errors="replace")
    return urlencode({name: str(text) for name, text in parsed.items()}, errors="replace").encode()


def assert_harmless(vendor: str, parsed: Any) -> None:
    body = body_of(vendor, parsed)
    assert vendors.call_webhook(vendor, body) in {200, 403}, body[:500]
    while due_receipts.apply_stored():
        pass
    for model, field in ((BlockedPhone, "phone"), (Contact, "phone"), (KnownRecipient, "user_id")):
        kept = model.objects.values_list(field, flat=True)
        assert all(len(ref) <= 150 and "\0" not in ref for ref in kept)


@pytest.fixture(autouse=True)
def accounts(settings: Settings) -> None:
    """Accounts for every vendor, also for those that the simulator cannot play together."""
    settings.PUBLIC_URL = "https://kvitok.example.com"
    for name in CALLERS:
        signer = vendors.VENDORS[name]
        secrets = {VENDORS[name].required: "110201543:token", signer.secret_setting: "secret"}
        set_account(settings, name, secrets)


@pytest.mark.parametrize("vendor", CALLERS)
def test_genuine_call_is_accepted(vendor: str) -> None:
    assert vendors.call_webhook(vendor, vendors.VENDORS[vendor].webhook_body) == 200


@pytest.mark.parametrize("vendor", [*filter(is_form, CALLERS)])
def test_long_form_is_refused_before_it_is_parsed(vendor: str) -> None:
    """Only the parsed form tells whose it is, and anybody may send one of 4 MB."""
    genuine = dict(parse_qsl(vendors.VENDORS[vendor].webhook_body.decode()))

    assert vendors.call_webhook(vendor, body_of(vendor, genuine | {"more": "x" * MAX_FORM})) == 403


@pytest.mark.parametrize("vendor", CALLERS)
def test_every_field_of_a_call_may_hold_anything(vendor: str) -> None:
    provider = registry.live_providers()[vendor]

    for parsed in genuine_payloads(vendor):
        for path in paths(parsed):
            for hostile in VALUES:
                body = body_of(vendor, replaced(parsed, path, hostile))
                inbound = signed(vendor, body)
                with suppress(InvalidWebhookError):
                    provider.parse_webhook(inbound)


@pytest.mark.parametrize("vendor", CALLERS)
@hypothesis(
    max_examples=50, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
@given(data=st.data())
def test_call_with_anything_in_a_field_is_answered(vendor: str, data: st.DataObject) -> None:
    parsed = data.draw(st.sampled_from(genuine_payloads(vendor)))
    path = data.draw(st.sampled_from(list(paths(parsed))))
    hostile = data.draw(st.sampled_from(VALUES))

    assert_harmless(vendor, replaced(parsed, path, hostile))


STOPS: list[tuple[str, str, Path]] = [
    ("twilio", "message_stop_2026-11.form", ("From",)),
    (
        "whatsapp_cloud",
        "message_stop_2026-11.json",
        ("entry", 0, "changes", 0, "value", "messages", 0, "from"),
    ),
]


@pytest.mark.parametrize("sender", ["9" * 500, "+" + "7" * 500, "+7", "\0", "STOP", "x" * 10_000])
@pytest.mark.parametrize(("vendor", "file", "path"), STOPS, ids=["twilio", "whatsapp"])
def test_stop_of_non_phone_sender_blocks_nobody(
    vendor: str, file: str, path: Path, sender: str
) -> None:
    raw = vendors.payload(vendor, file)
    parsed = dict(parse_qsl(raw.decode())) if is_form(vendor) else orjson.loads(raw)

    assert vendors.call_webhook(vendor, body_of(vendor, replaced(parsed, path, sender))) == 200
    assert not BlockedPhone.objects.filter(phone__contains=sender[:16].replace("\0", "?")).exists()
    assert all(len(blocked_phone.phone) <= 16 for blocked_phone in BlockedPhone.objects.all())
