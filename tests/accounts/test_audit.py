"""Authentication events are logged and audited, without a secret; no audit event can be changed."""

import logging
import re
from typing import Any

import pytest
import structlog
from allauth.account.forms import default_token_generator
from allauth.account.utils import user_pk_to_url_str
from django.db import IntegrityError, connection, transaction
from django.test import Client
from django.urls import reverse
from django.utils import translation
from pytest_django import Settings
from structlog.testing import LogCapture

from accounts import audit
from accounts.audit import ACTION_LABELS, changes_between, record, subject
from accounts.models import AuditEvent, Company, User
from accounts.security import notifications
from tests.accounts.security.people import add_app, confirm, signed_in
from tests.factories import PASSWORD, CompanyFactory, UserFactory
from tests.operator_admin.operators import code_now
from tests.packages import PACKAGES, ROOT

pytestmark = pytest.mark.django_db

NEW_PASSWORD = "another long passphrase 7"


@pytest.fixture
def logs(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The lines of the module, whatever level the tests run with."""
    capture = LogCapture()
    everything = structlog.make_filtering_bound_logger(logging.NOTSET)
    logger = structlog.wrap_logger(None, processors=[capture], wrapper_class=everything)
    monkeypatch.setattr(audit, "log", logger)
    return capture.entries


def actions() -> list[str]:
    return list(AuditEvent.objects.order_by("id").values_list("action", flat=True))


def test_signing_in_and_out_is_recorded_with_the_address(
    user: User, settings: Settings, logs: list[Any]
) -> None:
    settings.TRUSTED_PROXY_COUNT = 1
    client = Client(headers={"x-forwarded-for": "10.0.0.1, 203.0.113.7"})
    client.post(reverse("account_login"), {"login": user.email, "password": "wrong"})
    client.post(reverse("account_login"), {"login": user.email, "password": PASSWORD})
    client.post(reverse("account_logout"))

    events = AuditEvent.objects.order_by("id").values_list("action", "user", "ip")
    expected = ["login.failed", "login.succeeded", "logout"]
    assert list(events) == [(action, user.pk, "203.0.113.7") for action in expected]
    assert logged(logs) == [(action, user.pk, "203.0.113.7") for action in expected]


def logged(logs: Any) -> list[tuple[str, int | None, str]]:
    return [
        (log["action"], log["user"], log["ip"])
        for log in logs
        if log["event"] == "authentication_event"
    ]


def test_failed_sign_in_with_an_unknown_address_stores_no_input(db: None) -> None:
    Client().post(reverse("account_login"), {"login": "typo@example.com", "password": PASSWORD})

    event = AuditEvent.objects.get()
    assert (event.action, event.user_id, event.subject) == ("login.failed", None, "")


def test_wrong_second_step_is_recorded(user: User) -> None:
    add_app(user)
    client = signed_in(user)

    client.post(reverse("mfa_authenticate"), {"code": "000000"})
    client.post(reverse("mfa_authenticate"), {"code": code_now()})

    assert actions() == ["login.failed", "login.succeeded"]


def test_password_reset_is_recorded(user: User) -> None:
    client = Client()
    client.post(reverse("account_reset_password"), {"email": user.email})
    key = {"uidb36": user_pk_to_url_str(user), "key": default_token_generator.make_token(user)}
    form = client.get(reverse("account_reset_password_from_key", kwargs=key), follow=True)
    client.post(form.redirect_chain[-1][0], {"password1": NEW_PASSWORD, "password2": NEW_PASSWORD})

    assert actions() == ["password.reset_requested", "password.reset"]


@pytest.mark.django_db(transaction=True)
def test_changes_of_the_account_are_recorded(user: User) -> None:
    client = signed_in(user)
    confirm(client, "wrong")
    confirm(client)
    client.post(reverse("account_email"), {"email": "b@example.com", "action_add": ""})
    client.post(reverse("account_email"), {"email": "b@example.com", "action_remove": ""})
    secret = client.get(reverse("mfa_activate_totp")).context["form"].secret
    client.post(reverse("mfa_activate_totp"), {"code": code_now(secret)})

    assert actions() == [
        "login.succeeded",
        "reauthentication.failed",
        "reauthentication.passed",
        "address.added",
        "address.removed",
        "factor.added",
        "reauthentication.passed",
        "factor.added",
    ]
    subjects = AuditEvent.objects.filter(action="factor.added").values_list("subject", flat=True)
    assert sorted(subjects) == ["recovery_codes", "totp"]


def test_no_secret_is_recorded(user: User, logs: list[Any]) -> None:
    client = signed_in(user)
    key = client.session.session_key
    confirm(client)
    form = {"oldpassword": PASSWORD, "password1": NEW_PASSWORD, "password2": NEW_PASSWORD}
    client.post(reverse("account_change_password"), form)

    kept = str(logs) + str(list(AuditEvent.objects.values()))
    assert "password.changed" in kept
    assert PASSWORD not in kept
    assert NEW_PASSWORD not in kept
    assert key is not None
    assert key not in kept


def test_end_of_a_session_is_recorded(user: User) -> None:
    client = signed_in(user)
    signed_in(user)
    for _ in range(6):
        confirm(client, "wrong")

    assert actions()[-1] == "session.ended"


@pytest.mark.django_db(transaction=True)
def test_change_rolls_back_when_its_email_fails(
    user: User, monkeypatch: pytest.MonkeyPatch
) -> None:
    client = signed_in(user)
    confirm(client)
    client.raise_request_exception = False
    with monkeypatch.context() as patch:
        patch.delitem(notifications.NOTICES, "address.added")
        response = client.post(
            reverse("account_email"), {"email": "b@example.com", "action_add": ""}
        )

    assert response.status_code == 500
    assert list(user.emailaddress_set.values_list("email", flat=True)) == [user.email]
    assert actions()[-1] == "reauthentication.passed"


def test_passkeys_rejected_before_validation_are_not_recorded(db: None) -> None:
    """The audit log is kept for ever: strangers fill it no faster than the rate limit."""
    path = reverse("mfa_login_webauthn")
    form = {"credential": "{}"}
    without_token = Client(enforce_csrf_checks=True).post(path, form)
    statuses = [Client().post(path, form).status_code for _ in range(14)]

    assert without_token.status_code == 403
    assert statuses == [302] * 10 + [429] * 4
    assert actions() == ["login.failed"] * 10


def test_reauthentications_rejected_before_validation_are_not_recorded(user: User) -> None:
    strict = Client(enforce_csrf_checks=True)
    strict.cookies = signed_in(user).cookies
    before = actions()

    response = strict.post(reverse("account_reauthenticate"), {"password": "wrong"})

    assert (response.status_code, actions()) == (403, before)


def test_rate_limited_reauthentications_are_not_recorded(user: User) -> None:
    """One person may make ten a minute, from any number of sessions."""
    clients = [signed_in(user) for _ in range(4)]

    for client in clients:
        for _ in range(4):
            confirm(client, "wrong")

    assert actions().count("reauthentication.failed") == 10


@pytest.fixture
def event() -> AuditEvent:
    user = UserFactory.create(email="anna@example.com")
    return record("settings.changed", "brand", company=CompanyFactory.create(), user=user)


@pytest.mark.parametrize(
    "statement",
    [
        "UPDATE accounts_auditevent SET subject = 'nothing'",
        "DELETE FROM accounts_auditevent",
        "TRUNCATE accounts_auditevent",
        "TRUNCATE accounts_auditevent, accounts_company CASCADE",
    ],
)
def test_audit_events_are_immutable(event: AuditEvent, statement: str) -> None:
    with (
        transaction.atomic(),
        connection.cursor() as cursor,
        pytest.raises(IntegrityError, match="immutable"),
        transaction.atomic(),
    ):
        cursor.execute(statement)

    event.refresh_from_db()
    assert event.subject == "brand"


def test_audit_outlives_the_user_and_names_them(event: AuditEvent) -> None:
    user_id = event.user_id
    User.objects.get(email="anna@example.com").delete()

    kept = AuditEvent.objects.select_related("user").get()

    assert (kept.user_id, kept.user, kept.actor) == (user_id, None, "anna@example.com")


def test_audit_outlives_the_company(event: AuditEvent) -> None:
    Company.objects.all().delete()

    assert AuditEvent.objects.get().company_id == event.company_id


LABEL = re.compile(r'"([a-z_]+(?:\.[a-z_]+)?)": _\("[a-z]')
RECORDED = re.compile(r'\brecord\(\s*"([a-z_.]+)"')


def test_every_audited_action_has_a_label() -> None:
    sources = (path for app in PACKAGES for path in (ROOT / app).rglob("*.py"))

    recorded = {name for path in sources for name in RECORDED.findall(path.read_text("utf-8"))}

    assert len(recorded) > 20
    assert recorded - set(ACTION_LABELS) == set()


@pytest.mark.parametrize("package", PACKAGES)
def test_labels_of_actions_are_declared_by_the_package_that_records_them(package: str) -> None:
    declaration = ROOT / package / ("audit.py" if package == "accounts" else "declared.py")
    others = [path for path in (ROOT / package).rglob("*.py") if path != declaration]
    code = "".join(path.read_text("utf-8") for path in others)
    declared = LABEL.findall(declaration.read_text("utf-8")) if declaration.exists() else []

    foreign = [
        name
        for name in declared
        if f'"{name}"' not in code and f'f"{name.partition(".")[0]}.{{' not in code
    ]

    assert foreign == []


def test_labels_of_actions_read_alike() -> None:
    """The action without its actor: "Создан API-ключ", not "создал ключ"."""
    with translation.override("ru"):
        labels = [str(label) for label in ACTION_LABELS.values()]

    assert [label for label in labels if not label[0].isupper()] == []


@pytest.mark.parametrize(
    ("event", "text"),
    [
        (
            AuditEvent(
                action="guard.mode_changed",
                subject="enforce → off",
                changes={"guard_mode": ["enforce", "off"]},
            ),
            "придерживать → выключена",
        ),
        (AuditEvent(action="guard.mode_changed", subject="watch → enforce"), "только смотреть → "),
        (
            AuditEvent(
                action="guard.watches_others", changes={"guard_watches_others": [True, False]}
            ),
            "не учитываются",
        ),
        (AuditEvent(action="guard.lifted", subject="ip"), "один IP-адрес"),
        (AuditEvent(action="guard.lifted", subject="RU"), "Россия"),
        (AuditEvent(action="guard.let_through", subject="+7916123"), "+7916123…"),
    ],
)
def test_actions_on_the_protection_have_descriptions(event: AuditEvent, text: str) -> None:
    with translation.override("ru"):
        assert subject(event).startswith(text)


@pytest.mark.parametrize(
    "value",
    [
        "https://wa.me/79161230089",
        "https://example.com/?tel=%2B7%20916%20123-00-89",
        "utm_term=79161230089",
        "to +79161230089",
        ["https://wa.me/79161230089"],
        "x" * 480 + "+79161230089",
    ],
)
def test_phone_is_masked_in_addresses_and_texts(value: object) -> None:
    kept = str(changes_between({"url": "https://example.com/"}, {"url": value}))

    assert "1230089" not in kept.replace("-", "")
    assert "•••••" in kept


def test_non_phone_numbers_are_not_masked() -> None:
    kept = changes_between({"inn": ""}, {"inn": "7707083893", "kpp": "770701001"})

    assert kept == {"inn": ["", "7707083893"], "kpp": [None, "770701001"]}
