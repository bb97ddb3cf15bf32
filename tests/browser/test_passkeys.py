"""A passkey signs in without a password, on a simulated authenticator."""

from base64 import b64encode
from typing import NamedTuple

import pytest
from allauth.account.models import EmailAddress
from allauth.account.utils import user_pk_to_url_str
from allauth.mfa.models import Authenticator
from playwright.sync_api import CDPSession, Page, expect
from pytest_django.live_server_helper import LiveServer

from accounts.models import User
from tests.factories import PASSWORD, MemberFactory

pytestmark = pytest.mark.django_db(transaction=True)


class Device(NamedTuple):
    session: CDPSession
    reader: dict[str, str]  # names it to Chromium


@pytest.fixture
def device(page: Page) -> Device:
    """A virtual laptop whose fingerprint reader accepts every request."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    options = {"protocol": "ctap2", "transport": "internal", "hasResidentKey": True}
    reader = {"hasUserVerification": True, "isUserVerified": True}
    made = session.send("WebAuthn.addVirtualAuthenticator", {"options": options | reader})
    return Device(session, {"authenticatorId": made["authenticatorId"]})


@pytest.fixture
def user(page: Page, live_server: LiveServer) -> User:
    user = MemberFactory.create().user
    EmailAddress.objects.create(user=user, email=user.email, verified=True, primary=True)
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_label("Адрес электронной почты").fill(user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Войти", exact=True).click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()
    return user


def confirm(page: Page) -> None:
    """Enters the password again before the account is changed."""
    page.get_by_label("Пароль").fill(PASSWORD)
    page.get_by_role("button", name="Подтвердить").click()


def add_passkey(page: Page, *, alone: bool = True) -> None:
    page.get_by_role("link", name="Двухэтапный вход").click()
    page.get_by_role("link", name="Добавить ключ доступа").click()
    confirm(page)
    page.get_by_label("Название").fill("Ноутбук")
    page.get_by_label("Входить только с ним").set_checked(alone)
    page.get_by_role("button", name="Добавить ключ").click()


def test_passkey_signs_in_without_a_password(
    page: Page, live_server: LiveServer, device: Device, user: User
) -> None:
    add_passkey(page)
    expect(page.get_by_role("heading", name="Коды восстановления")).to_be_visible()
    assert Authenticator.objects.filter(user=user, type="webauthn").count() == 1

    page.get_by_role("button", name="Выйти").click()
    page.goto(f"{live_server.url}/account/login/")
    page.get_by_role("button", name="Войти с ключом доступа").click()

    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()

    page.goto(f"{live_server.url}/account/2fa/webauthn/")
    expect(page.get_by_role("cell", name="Ноутбук", exact=True)).to_be_visible()
    page.get_by_role("link", name="Удалить Ноутбук").click()
    # Pressed before its script runs it must do nothing: a form without an answer of the device ends
    # at the overview, and what was to be confirmed is lost.
    expect(page.get_by_role("button", name="Ключ доступа")).to_have_attribute("type", "button")
    page.wait_for_load_state()
    page.get_by_role("button", name="Ключ доступа").click()
    page.get_by_role("button", name="Удалить").click()
    expect(page.get_by_text("Ключей доступа пока нет")).to_be_visible()
    assert not Authenticator.objects.filter(user=user, type="webauthn").exists()


def test_second_factor_does_not_sign_in_alone(
    page: Page, live_server: LiveServer, device: Device, user: User
) -> None:
    add_passkey(page, alone=False)
    expect(page.get_by_role("heading", name="Коды восстановления")).to_be_visible()
    keep_as_discoverable(device, user)
    page.get_by_role("button", name="Выйти").click()
    page.goto(f"{live_server.url}/account/login/")

    page.get_by_role("button", name="Войти с ключом доступа").click()

    expect(page.get_by_role("alert").filter(has_text="второй шаг")).to_be_visible()
    assert not User.objects.get(pk=user.pk).sessions.exists()

    page.get_by_label("Адрес электронной почты").fill(user.email)
    page.get_by_label("Пароль", exact=True).fill(PASSWORD)
    page.get_by_role("button", name="Войти", exact=True).click()
    page.get_by_role("button", name="Ключ доступа").click()
    expect(page.get_by_role("heading", name="Обзор")).to_be_visible()


def keep_as_discoverable(device: Device, user: User) -> None:
    """Makes the stored passkey discoverable, as many authenticators do for any request."""
    session, reader = device
    (made,) = session.send("WebAuthn.getCredentials", reader)["credentials"]
    handle = b64encode(user_pk_to_url_str(user).encode()).decode()
    discoverable = made | {"isResidentCredential": True, "userHandle": handle}
    session.send("WebAuthn.clearCredentials", reader)
    session.send("WebAuthn.addCredential", reader | {"credential": discoverable})


def test_unknown_device_is_refused(page: Page, live_server: LiveServer, device: Device) -> None:
    page.goto(f"{live_server.url}/account/login/")

    page.get_by_role("button", name="Войти с ключом доступа").click()

    expect(page.get_by_role("alert").filter(has_text="Устройство не подтвердило")).to_be_visible()
