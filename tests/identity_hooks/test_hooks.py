"""Operations on hooks, their secrets at rest, their trial and what the company reads of calls."""

import json
from collections.abc import Iterator
from datetime import timedelta
from functools import partial

import pytest
from django.db import connection
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone
from pytest_django import Settings

from accounts.models import AuditEvent, Company, Member
from api import request_log
from api.models import ApiRequest
from catalogue.errors import DomainError
from channels.models import Message
from identity_hooks import hooks, mapping, receive, signatures
from identity_hooks.kinds import kinds
from identity_hooks.models import Hook
from identity_hooks.web import views
from identity_hooks.web.hook_view import ENTRY_POINT
from tests.api.races import at_once
from tests.factories import UserFactory
from tests.identity_hooks.calls import CODE, PHONE, make_hook, secret_of, send, simulated

pytestmark = pytest.mark.django_db


@pytest.fixture
def logged(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    settings.REQUEST_LOG_DAYS = 14
    monkeypatch.setattr(request_log.RequestBuffer, "_start", lambda _self: None)
    monkeypatch.setattr(connection, "close", lambda: None, raising=False)
    request_log.buffer.reset()
    yield
    request_log.buffer.reset()


def rows() -> list[ApiRequest]:
    request_log.buffer.flush()
    return list(ApiRequest.objects.order_by("id"))


@pytest.mark.django_db(transaction=True)
@pytest.mark.usefixtures("queued_at_once", "logged")
def test_company_reads_of_calls_without_anything_secret(company: Company) -> None:
    hook = make_hook(company, "zitadel")
    send(hook, simulated(hook))
    call = simulated(hook)
    old = Client().post(
        f"{hook.path}/{secret_of(hook)}", call.body, content_type="application/json"
    )
    send(hook, simulated(hook, secret="kvh_another_secret_of_40_characters_0000"))
    send(hook, simulated(hook, phone="+7"))

    sent, _repeated, refused, wrong = rows()

    assert old.status_code == 200
    assert (sent.path, sent.status, sent.code) == ("/hooks/identity/zitadel/{id}", 200, "")
    assert (sent.phone, sent.message_id) == ("+7916•••••67", Message.objects.get().pk)
    assert (refused.status, refused.code, refused.phone) == (401, "bad_signature", "")
    assert (wrong.status, wrong.code) == (422, "invalid_phone")
    said = str(ApiRequest.objects.values())
    for secret in (CODE, PHONE, hook.url_id, secret_of(hook)):
        assert secret not in said


@pytest.mark.usefixtures("queued_at_once", "logged")
@pytest.mark.parametrize(
    ("status", "secret"),
    [("approved", "kvh_another_secret_of_40_characters_0000"), ("pending", ""), ("suspended", "")],
)
def test_flood_of_free_calls_writes_one_row_a_second(
    company: Company, status: str, secret: str
) -> None:
    Company.objects.update(status=status)
    hook = make_hook(company, "logto")
    call = simulated(hook, secret=secret)

    statuses = {send(hook, call).status_code for _try in range(5)}

    assert statuses == {401 if secret else 403}
    assert len(rows()) <= 2


@pytest.mark.usefixtures("logged")
def test_unknown_hook_call_is_logged_without_company(company: Company) -> None:
    hook = make_hook(company, "logto")

    send(hook, simulated(hook), f"/hooks/identity/logto/{'x' * 24}")

    assert rows() == []


def test_secret_is_encrypted_at_rest(company: Company) -> None:
    hook, secret = hooks.create(
        company=company, user=None, kind="logto", mode="live", values={"name": "x"}
    )

    assert secret not in str(Hook.objects.values())
    assert secret_of(hook) == secret


def test_secrets_are_reencrypted_with_the_current_key(company: Company, settings: Settings) -> None:
    hook, secret = hooks.create(
        company=company, user=None, kind="logto", mode="live", values={"name": "x"}
    )
    (old,) = settings.MFA_KEYS
    settings.MFA_KEYS = {"new": b"n" * 32, **settings.MFA_KEYS}

    assert hooks.rotate_keys() == {old: 1}

    settings.MFA_KEYS = {"new": b"n" * 32}
    hook.refresh_from_db()
    assert secret_of(hook) == secret
    assert hooks.secrets_by_key() == {"new": 1}


def test_hook_with_a_lost_encryption_key_refuses_everybody(company: Company) -> None:
    hook = make_hook(company, "logto")
    call = simulated(hook)

    with override_settings(MFA_KEYS={"other": b"o" * 32}):
        response = send(hook, call)

    assert response.status_code == 401


def test_server_may_bring_its_own_secret(company: Company) -> None:
    hook = make_hook(company, "clerk")
    own = signatures.new_standard_secret()

    hooks.rotate(hook=hook, user=None, own_secret=own)

    assert secret_of(hook) == own
    with pytest.raises(DomainError):
        hooks.rotate(hook=hook, user=None, own_secret="whsec_short")
    assert secret_of(hook) == own


def test_second_click_makes_no_second_secret(company: Company) -> None:
    hook = make_hook(company, "logto")

    first, second = (hooks.rotate(hook=hook, user=None) for _click in range(2))

    assert first == second


def test_company_has_at_most_twenty_hooks(company: Company) -> None:
    for _number in range(hooks.MAX_ACTIVE):
        last = make_hook(company, "logto")
    with pytest.raises(DomainError):
        make_hook(company, "logto")

    hooks.revoke(hook=last, user=None)
    make_hook(company, "logto")


def test_hooks_created_in_a_day_are_limited(
    company: Company, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Revoked hooks are kept, and the list shows them."""
    monkeypatch.setattr(hooks, "MAX_NEW", 2)
    for _number in range(2):
        hooks.revoke(hook=make_hook(company, "logto"), user=None)

    with pytest.raises(DomainError):
        make_hook(company, "logto")

    company.identity_hooks.update(created_at=timezone.now() - timedelta(days=2))
    make_hook(company, "logto")


def test_operations_are_audited_without_secrets(company: Company) -> None:
    hook = make_hook(company, "logto")
    hooks.change(hook=hook, user=None, values={"purpose": "login", "channels": ["sms"]})
    hooks.rotate(hook=hook, user=None)
    hooks.revoke(hook=hook, user=None)

    events = AuditEvent.objects.filter(company=company).order_by("id")
    assert [event.action for event in events] == [
        f"hook.{word}" for word in ("created", "changed", "rotated", "revoked")
    ]
    assert events[1].changes == {"purpose": ["", "login"], "channels": [[], ["sms"]]}
    assert secret_of(hook) not in str(events.values())


@pytest.mark.usefixtures("queued_at_once")
@pytest.mark.parametrize("kind", list(kinds()))
def test_trial_simulates_the_servers_call(company: Company, kind: str) -> None:
    own = {"phone": "/to", "text": "text", "auth": "hmac-sha256:X-Signature"}
    hook = make_hook(
        company,
        kind,
        "test",
        allowed_ips=["203.0.113.0/24"],
        mapping=own if kind == "generic" else {},
    )

    with override_settings(TRUSTED_PROXY_COUNT=2):
        result = views.run_trial(hook=hook, phone="8 999 000-00-00", user=UserFactory.create())

    assert (result.status, result.is_sent) == (200, True), result.response
    assert Message.objects.get().phone == "+79990000000"
    assert AuditEvent.objects.get(action="hook.tried").subject.endswith("+7999•••••00")


@pytest.mark.usefixtures("queued_at_once")
def test_trial_of_a_mapping_of_links_sends_one(company: Company) -> None:
    hook = make_hook(company, "generic", "test", mapping={"phone": "/to", "link": "/url"})

    result = views.run_trial(hook=hook, phone="8 999 000-00-00", user=UserFactory.create())

    assert result.is_sent, result.response
    assert Message.objects.get().kind == Message.Kind.LINK


def test_trial_with_a_lost_secret_is_refused(company: Company, settings: Settings) -> None:
    hook = make_hook(company, "supabase", "test")
    settings.MFA_KEYS = {"new": b"x" * 32}

    with pytest.raises(DomainError) as refused:
        views.run_trial(hook=hook, phone="8 999 000-00-00", user=UserFactory.create())

    assert refused.value.message == hooks.UNUSABLE


@pytest.mark.usefixtures("queued_at_once")
@pytest.mark.parametrize("auth", ["svix", "standard_webhooks"])
def test_secret_of_another_form_is_refused_until_it_is_replaced(
    client: Client, owner: Member, auth: str
) -> None:
    hook = make_hook(owner.company, "generic", "test", mapping=mapping.DEFAULT)
    pages = [reverse(f"hook-{name}", args=[hook.pk]) for name in ("edit", "try")]
    fields = {
        "name": "x",
        "code_length": 6,
        "mapping": json.dumps({**mapping.DEFAULT, "auth": auth}),
    }

    edited = client.post(pages[0], fields, follow=True)
    tried = client.post(pages[1], {"phone": PHONE})
    hook.refresh_from_db()
    signed = simulated(hook, secret=signatures.new_standard_secret())

    assert "замените его" in edited.content.decode()
    assert (tried.status_code, "замените его" in tried.content.decode()) == (200, True)
    assert send(hook, signed).status_code == 401
    hooks.rotate(hook=hook, user=None)
    assert send(hook, signed).status_code == 401
    assert send(hook, simulated(hook)).status_code == 200


def environ(path: str, **headers: str) -> dict[str, str]:
    address = {"PATH_INFO": path, "REQUEST_METHOD": "POST", "REMOTE_ADDR": "203.0.113.7"}
    return address | {f"HTTP_{name.upper()}": text for name, text in headers.items()}


def test_body_is_received_only_if_the_headers_are_accepted(company: Company) -> None:
    hook = make_hook(company, "logto")
    good = {"authorization": f"Bearer {secret_of(hook)}"}

    assert ENTRY_POINT.sender(environ(hook.path, **good)) == f"hook {hook.pk}"
    for path, headers in [
        (hook.path, {}),
        (hook.path, {"authorization": "Bearer kvh_wrong"}),
        (f"/hooks/identity/logto/{'x' * 24}", good),
        (f"/hooks/identity/okta/{hook.url_id}", good),
        ("/hooks/identity/", good),
    ]:
        with pytest.raises(DomainError):
            ENTRY_POINT.sender(environ(path, **headers))


def test_same_call_at_once_is_one_message(
    transactional_db: None, queued_at_once: None, company: Company
) -> None:
    """The server gave up waiting and called again, twice."""
    hook = make_hook(company, "supabase")

    responses = at_once([partial(send, hook, simulated(hook)) for _try in range(4)])

    assert [response.content for response in responses] == [b"{}"] * 4
    assert Message.objects.count() == 1


def test_caller_refusals_are_the_ones_that_are_counted() -> None:
    assert {"bad_signature", "address_not_allowed"} == receive.CALLER_REFUSALS


def test_only_two_secrets_are_accepted(company: Company) -> None:
    hook = make_hook(company, "logto")
    first = secret_of(hook)
    hooks.rotate(hook=hook, user=None)
    Hook.objects.update(previous_until=timezone.now() + Hook.ROTATION / 2)
    hooks.rotate(hook=hook, user=None)

    assert send(hook, simulated(hook, secret=first)).status_code == 401


@pytest.mark.parametrize("kind", ["supabase", "zitadel", "clerk"])
@pytest.mark.parametrize("seconds", [-301, 301])
@pytest.mark.usefixtures("queued_at_once")
def test_replay_outside_the_tolerance_is_refused(company: Company, kind: str, seconds: int) -> None:
    hook = make_hook(company, kind)
    now = timezone.now().timestamp()

    assert send(hook, simulated(hook, at=now + seconds)).status_code == 401
    assert not Message.objects.exists()
