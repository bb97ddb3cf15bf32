"""Wrong passwords are counted in PostgreSQL, by account, network and browser."""

from collections import Counter
from collections.abc import Iterator
from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.core.cache import cache
from django.db.models import F
from django.http import HttpResponse
from django.test import Client, RequestFactory
from django.urls import reverse
from pytest_django import Settings

from accounts import purges
from accounts.models import CacheEntry, Mail, User
from accounts.sign_in import adapter
from storage.redis_client import redis_client
from tests.api.races import at_once
from tests.factories import PASSWORD
from tests.sql import execute

LOGIN = "account_login"
WRONG = "quite another password"


@pytest.fixture(autouse=True)
def _quick_hashes(settings: Settings) -> None:
    settings.PASSWORD_HASHERS = ["django.contrib.auth.hashers.MD5PasswordHasher"]


def make_owner(email: str = "owner@example.com") -> User:
    # Not by the factory, which remembers a slow hash.
    return User.objects.create_user(email, PASSWORD)


@pytest.fixture
def owner(db: None) -> User:
    return make_owner()


def log_in(client: Client, ip: str, password: str = WRONG, **extra: Any) -> HttpResponse:
    data = {"login": "owner@example.com", "password": password}
    return client.post(reverse(LOGIN), data, REMOTE_ADDR=ip, **extra)  # type: ignore[return-value]


def is_in(client: Client) -> bool:
    return "_auth_user_id" in client.session


MAX_WRONG_PASSWORDS = 100  # wrong passwords that an account takes, from many networks


def block_everywhere() -> None:
    """Blocks like `MAX_WRONG_PASSWORDS` sign-ins without a device cookie, without their pages."""
    request = RequestFactory().post(reverse(LOGIN))
    for _ in range(MAX_WRONG_PASSWORDS):
        adapter.consume(request, "owner@example.com")


@pytest.mark.usefixtures("no_redis")
def test_wrong_passwords_are_limited_without_redis(client: Client, owner: User) -> None:
    for _ in range(5):
        log_in(client, "203.0.113.1")

    log_in(client, "203.0.113.1", PASSWORD)

    assert not is_in(client)


def test_flushing_redis_keeps_failed_sign_ins(client: Client, owner: User) -> None:
    for _ in range(5):
        log_in(client, "203.0.113.1")
        redis_client().flushdb()

    log_in(client, "203.0.113.1", PASSWORD)

    assert not is_in(client)


@pytest.mark.parametrize("socket", ["", "::ffff:"])  # of IPv4, of both families
def test_owner_signs_in_from_another_network(owner: User, socket: str) -> None:
    for number in range(20):  # more than one address may, of all accounts together
        data = {"login": f"{number}@example.com", "password": WRONG}
        Client().post(reverse(LOGIN), data, REMOTE_ADDR=f"{socket}203.0.113.1")
    for _ in range(10):
        log_in(Client(), f"{socket}203.0.113.1")
    client = Client()

    log_in(client, f"{socket}198.51.100.7", PASSWORD)

    assert is_in(client)


def test_host_header_does_not_reset_the_limit(client: Client, owner: User) -> None:
    for port in range(5):
        log_in(client, "203.0.113.1", headers={"host": f"testserver:{8000 + port}"})

    log_in(client, "203.0.113.1", PASSWORD, headers={"host": "testserver:9000"})

    assert not is_in(client)


def test_addresses_of_one_ipv6_64_share_a_limit(client: Client, owner: User) -> None:
    for number in range(5):
        log_in(client, f"2001:db8::{number + 1}")

    log_in(client, "2001:db8::ffff", PASSWORD)

    assert not is_in(client)


def test_distributed_guesses_are_limited_per_account(owner: User) -> None:
    for number in range(MAX_WRONG_PASSWORDS):
        log_in(Client(), f"198.51.{number}.1")
    client = Client()

    log_in(client, "203.0.113.1", PASSWORD)

    assert not is_in(client)


def test_known_browser_signs_in_while_others_guess(owner: User) -> None:
    client = Client()
    log_in(client, "203.0.113.1", PASSWORD)
    client.post(reverse("account_logout"))
    block_everywhere()

    log_in(client, "203.0.113.1", PASSWORD)

    assert is_in(client)


def test_browser_is_known_only_for_its_own_account(owner: User) -> None:
    make_owner("thief@example.com")
    client = Client()
    data = {"login": "thief@example.com", "password": PASSWORD}
    client.post(reverse(LOGIN), data, REMOTE_ADDR="203.0.113.1")
    client.post(reverse("account_logout"))
    block_everywhere()

    log_in(client, "203.0.113.1", PASSWORD)

    assert not is_in(client)


def test_stolen_device_cookie_has_its_own_limit(owner: User) -> None:
    client = Client()
    log_in(client, "203.0.113.1", PASSWORD)
    stolen = client.cookies[adapter.COOKIE].value
    for number in range(20):
        thief = Client()
        thief.cookies[adapter.COOKIE] = stolen
        log_in(thief, f"198.51.{number}.1")

    log_in(thief, "198.51.99.1", PASSWORD)

    assert not is_in(thief)


def test_forged_device_cookie_is_ignored(owner: User) -> None:
    block_everywhere()
    client = Client()
    client.cookies[adapter.COOKIE] = "W10:1tFake:forged"

    log_in(client, "203.0.113.1", PASSWORD)

    assert not is_in(client)


def test_device_cookie_is_http_only_and_scoped_to_sign_in(owner: User) -> None:
    client = Client()
    log_in(client, "203.0.113.1", PASSWORD)

    cookie = client.cookies[adapter.COOKIE]

    assert (cookie["httponly"], cookie["samesite"], cookie["path"]) == (True, "Lax", "/account/")
    assert owner.email not in cookie.value


def test_correct_password_does_not_count_as_an_attempt(owner: User) -> None:
    for _ in range(12):
        client = Client()
        log_in(client, "203.0.113.1", PASSWORD)

    assert is_in(client)


def test_password_reset_lifts_the_limit(owner: User) -> None:
    block_everywhere()
    client = Client(REMOTE_ADDR="203.0.113.1")
    client.post(reverse("account_reset_password"), {"email": owner.email})
    mail = Mail.objects.get(template="account/email/password_reset_key")
    link = next(word for word in mail.text.split() if "/password/reset/key/" in word)
    form = client.get("/" + link.split("/", 3)[3], follow=True)
    new = {"password1": "an altogether new one", "password2": "an altogether new one"}
    client.post(form.redirect_chain[-1][0], new)

    log_in(client, "203.0.113.1", new["password1"])

    assert is_in(client)


@pytest.mark.usefixtures("no_redis")
def test_other_forms_are_limited_without_redis(client: Client, owner: User) -> None:
    for page, data, most in [
        ("account_reset_password", {"email": owner.email}, 10),
        ("account_signup", {"email": "x"}, 20),
    ]:
        statuses = [client.post(reverse(page), data).status_code for _ in range(most + 1)]

        assert statuses[-2:] == [statuses[0], 429]
        assert statuses[0] != 429


@pytest.mark.usefixtures("no_redis")
def test_reauthentication_attempts_are_limited_without_redis(client: Client, owner: User) -> None:
    client.force_login(owner)
    page = reverse("account_reauthenticate")

    statuses = [client.post(page, {"password": WRONG}).status_code for _ in range(6)]

    assert statuses == [200, 200, 200, 200, 200, 302]
    assert client.get(reverse("overview")).status_code == 302  # the session is over


def test_emails_to_one_address_are_limited(owner: User, settings: Settings) -> None:
    settings.ACCOUNT_EMAIL_VERIFICATION = "mandatory"
    data = {
        "email": owner.email,
        "company": "X",
        "country": "RU",
        "password1": "some long password 7",
    }

    for number in range(12):
        client = Client(REMOTE_ADDR=f"198.51.{number}.1")
        client.post(reverse("account_signup"), data)
        client.post(reverse("account_reset_password"), data)

    emails = Counter(Mail.objects.filter(to=owner.email).values_list("template", flat=True))
    assert emails == {
        "account/email/account_already_exists": 1,
        "account/email/password_reset_key": 10,
    }


@pytest.mark.django_db(transaction=True)
def test_parallel_tries_are_counted_each() -> None:
    make_owner()

    responses = at_once([partial(log_in, Client(), "203.0.113.1") for _ in range(12)])

    assert sum("Слишком много" not in response.content.decode() for response in responses) <= 5


@pytest.fixture
def entry(db: None) -> Iterator[str]:
    cache.set("k", [1.5], 60)
    yield "k"
    cache.clear()


def test_cache_adds_once(entry: str) -> None:
    assert cache.add(entry, 2, 60) is False
    assert cache.add("other", 2, 60) is True
    assert (cache.get(entry), cache.get("other")) == ([1.5], 2)


def test_cache_entry_expires(entry: str) -> None:
    CacheEntry.objects.update(expires_at=F("expires_at") - timedelta(minutes=2))

    assert cache.get(entry) is None
    assert cache.touch(entry, 60) is False
    assert cache.add(entry, 2, 60) is True


def test_cache_lives_longer_when_touched(entry: str) -> None:
    assert cache.touch(entry, 3600) is True
    CacheEntry.objects.update(expires_at=F("expires_at") - timedelta(minutes=2))

    assert cache.get(entry) == [1.5]


def test_purge_removes_only_expired_entries(entry: str) -> None:
    cache.set("over", 1, 1)
    CacheEntry.objects.filter(key=":1:over").update(expires_at=F("expires_at") - timedelta(1))

    purges.purge()

    assert [row.key for row in CacheEntry.objects.all()] == [f":1:{entry}"]


@pytest.mark.django_db
def test_cache_table_is_not_logged() -> None:
    rows = execute("SELECT relpersistence FROM pg_class WHERE relname = 'accounts_cacheentry'")
    assert rows[0] == ("u",)
