"""Production does not start with unsafe settings, and each is named without its secret."""

import secrets
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from django.core.exceptions import ImproperlyConfigured

from accounts.oidc.grants import Grant
from config.environment.mail_address import parse
from config.environment.oidc_settings import parse_roles
from config.environment.production_checks import problems, require_safe, weakness
from config.environment.variables import ROOT
from config.settings import EMAIL_BACKEND as DEFAULT_EMAIL_BACKEND
from tests.config.environment.safe_variables import KEYS, SAFE
from tests.config.starting import GOOD, start

ORDINARY = {
    "DEBUG": False,
    "PUBLIC_URL": "https://kvitok.example",
    "SHORT_URL": "https://go.example",
    "ALLOWED_HOSTS": ["kvitok.example", ".shop.example", "[::1]"],
    "SECRET_KEY": KEYS[0],
    "SECRET_KEY_FALLBACKS": [KEYS[3]],
    "OTP_KEYS": {"k1": KEYS[1].encode()},
    "WEBHOOK_KEYS": {"k1": KEYS[2].encode()},
    "MFA_KEYS": {"k1": KEYS[4].encode()},
    "DATABASES": {"default": {"PASSWORD": "j3nf83"}},
    "EMAIL_BACKEND": "django.core.mail.backends.smtp.EmailBackend",
    "PAYMENT_GATEWAYS": ["invoice"],
    "OPERATOR_MFA": True,
    "GATEWAY_ACCOUNTS": {"invoice": {}, "stripe": {"url": "https://vendor.example"}},
    "PROVIDER_ACCOUNTS": {"smpp": {}, "smsc": {"api_url": "https://vendor.example"}},
    "SIMULATOR_URL": "",
    "METRICS_HOST": "127.0.0.1",
}
CONSOLE, FILES, MEMORY, NOWHERE = (
    f"django.core.mail.backends.{name}.EmailBackend"
    for name in ("console", "filebased", "locmem", "dummy")
)


def test_ordinary_production_has_no_problems() -> None:
    assert list(problems(ORDINARY)) == []


@pytest.mark.parametrize(
    ("name", "value", "text"),
    [
        ("DEBUG", True, "DEBUG is on: unset it"),
        ("PUBLIC_URL", "http://kvitok.example", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "http://127.0.0.1:8000", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://[::1", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://kvitok.example:port", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://me@kvitok.example", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://kvitok.example?x=", "PUBLIC_URL is unset or not https"),
        ("PUBLIC_URL", "https://kvitok.example.com", "PUBLIC_URL is an example"),
        ("PUBLIC_URL", "https://shop.example/kvitok", "PUBLIC_URL has a path"),
        ("SHORT_URL", "https://shop.example/go", "SHORT_URL has a path"),
        ("SHORT_URL", "http://go.example", "SHORT_URL is unset or not https"),
        ("SHORT_URL", "https://example.com", "SHORT_URL is an example"),
        ("ALLOWED_HOSTS", [], "ALLOWED_HOSTS is empty"),
        ("ALLOWED_HOSTS", [""], "ALLOWED_HOSTS is empty"),
        ("ALLOWED_HOSTS", ["kvitok.example", "*"], "ALLOWED_HOSTS accepts every host"),
        ("ALLOWED_HOSTS", ["*.example"], "ALLOWED_HOSTS accepts every host"),
        ("ALLOWED_HOSTS", ["https://kvitok.example"], "ALLOWED_HOSTS must list only hosts"),
        ("ALLOWED_HOSTS", ["a.example", "b.example:8000"], "ALLOWED_HOSTS must list only hosts"),
        ("ALLOWED_HOSTS", ["[::1]:8000"], "ALLOWED_HOSTS must list only hosts"),
        ("ALLOWED_HOSTS", ["a.example b.example"], "ALLOWED_HOSTS must list only hosts"),
        ("SECRET_KEY", "a" * 60, "SECRET_KEY has fewer than 10 different characters"),
        ("SECRET_KEY", f"django-insecure-{KEYS[3]}", "SECRET_KEY contains the word 'insecure'"),
        ("SECRET_KEY_FALLBACKS", ["short"], "SECRET_KEY_FALLBACKS (number 1) has fewer than"),
        ("SECRET_KEY_FALLBACKS", [KEYS[0]], "SECRET_KEY and SECRET_KEY_FALLBACKS (number 1) are"),
        ("OTP_KEYS", {"k1": b"x" * 32}, "OTP_KEYS (key k1) has fewer than 10"),
        ("OTP_KEYS", {"k1": KEYS[0].encode()}, "SECRET_KEY and OTP_KEYS (key k1) are the same"),
        (
            "OTP_KEYS",
            {"k2": KEYS[1].encode(), "k1": KEYS[1].encode()},
            "OTP_KEYS (key k2) and OTP_KEYS (key k1) are the same",
        ),
        ("WEBHOOK_KEYS", {"k1": b"0123456789abcdef" * 2}, "WEBHOOK_KEYS (key k1) repeats"),
        (
            "WEBHOOK_KEYS",
            {"k1": KEYS[1].encode()},
            "OTP_KEYS (key k1) and WEBHOOK_KEYS (key k1) are the same",
        ),
        ("DATABASES", {"default": {"PASSWORD": "secret"}}, "password of .env.example"),
        ("EMAIL_BACKEND", CONSOLE, "EMAIL_URL sends no e-mails"),
        ("EMAIL_BACKEND", FILES, "EMAIL_URL sends no e-mails"),
        ("EMAIL_BACKEND", MEMORY, "EMAIL_URL sends no e-mails"),
        ("EMAIL_BACKEND", NOWHERE, "EMAIL_URL sends no e-mails"),
        ("EMAIL_BACKEND", DEFAULT_EMAIL_BACKEND, "EMAIL_URL sends no e-mails"),
        ("PAYMENT_GATEWAYS", ["sandbox"], "sandbox takes no money"),
        ("OPERATOR_MFA", False, "OPERATOR_MFA cannot be off in production"),
        (
            "PROVIDER_ACCOUNTS",
            {"smsc": {"api_url": "http://v.example"}},
            "VENDOR_URLS must be https",
        ),
        ("GATEWAY_ACCOUNTS", {"stripe": {"url": "http://v.example"}}, "VENDOR_URLS must be https"),
        ("SIMULATOR_URL", "http://127.0.0.1:8001", "belongs to development"),
        ("METRICS_HOST", "93.184.215.14", "METRICS_HOST is a public address"),
    ],
)
def test_each_unsafe_value_is_named_alone(name: str, value: Any, text: str) -> None:
    (result,) = problems(ORDINARY | {name: value})

    assert result.startswith(text) or text in result


def test_all_problems_are_listed_without_secrets() -> None:
    weak = "hunter2-hunter2-hunter2-hunter2-hunter2-hunter2-hunter2"
    with pytest.raises(ImproperlyConfigured) as caught:
        require_safe(ORDINARY | {"DEBUG": True, "PUBLIC_URL": "", "SECRET_KEY": weak})

    assert "DEBUG" in str(caught.value)
    assert "PUBLIC_URL" in str(caught.value)
    assert "SECRET_KEY" in str(caught.value)
    assert "hunter2" not in str(caught.value)


@pytest.mark.parametrize("make", [secrets.token_hex, secrets.token_urlsafe])
@pytest.mark.parametrize("size", [24, 32, 60, 2000])
def test_random_keys_are_strong(make: Any, size: int) -> None:
    assert {weakness(make(max(size, 32))) for _ in range(200)} == {""}


@pytest.mark.parametrize(
    ("secret", "text"),
    [
        ("check-check-check-check-check-check-check-check-check", "fewer than 10"),
        ("x" * 60, "fewer than 10"),
        ("correct horse battery staple and some further words", "no mix of letters and digits"),
        ("7316717653133062491922511967442657474235", "fewer than 10"),
        ("fewMore1charsfewMore1charsfewMore1charsfewMore1chars", "repeats itself"),
        ("abcdefghijklmnopqrstuvwxyz0123456789ABCDEFGHIJKLM", "sequence"),
        ("change-me-to-50-random-characters-h8d3k2l9f7s6a5", "'change'"),
    ],
)
def test_typed_keys_are_weak(secret: str, text: str) -> None:
    assert text in weakness(secret)


@pytest.mark.parametrize(
    "name", ["prod", "Production", "PRODUCTION", "staging", "dev", "", "test x"]
)
def test_unknown_environment_does_not_start(name: str) -> None:
    refused = start(ENVIRONMENT=name)

    last_line = refused.stderr.strip().splitlines()[-1]
    assert refused.returncode != 0
    assert f"ENVIRONMENT is {name!r}: set it to production, development or test" in last_line


def test_safe_production_starts() -> None:
    assert start(**SAFE).stderr == ""


def test_cookies_settable_by_other_hosts_are_ignored() -> None:
    """A cookie of the same name, set for the whole domain, would make every form fail."""
    code = (
        "from django.conf import settings as s;"
        "print(*[getattr(s, name) for name in dir(s) if name.endswith('_COOKIE_NAME')])"
    )
    env = GOOD | SAFE | {"DJANGO_SETTINGS_MODULE": "config.settings"}

    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=env, text=True, capture_output=True, check=True
    )

    names = [name for name in done.stdout.split() if not name.startswith("__Host-")]
    assert names == ["django_language"]


def test_production_starts_with_further_accounts_of_every_kind() -> None:
    url = "smpps://kvitok:tRw82kfL@smpp.example?source=KVITOK"
    smpp = {"SMPP_URL": url, "SMPP_KZ_URL": url}
    twilio = {
        "TWILIO_ACCOUNTS": "uz",
        "TWILIO_UZ_ACCOUNT_SID": "AC1",
        "TWILIO_UZ_AUTH_TOKEN": "x1y2",
    }

    assert start(**SAFE, **smpp, **twilio, SMPP_ACCOUNTS="kz").stderr == ""


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"DEBUG": "true"}, "DEBUG is on"),
        ({"PUBLIC_URL": ""}, "PUBLIC_URL is unset"),
        ({"PUBLIC_URL": "http://kvitok.example"}, "PUBLIC_URL is unset or not https"),
        ({"SHORT_URL": "http://go.example"}, "SHORT_URL is unset or not https"),
        ({"ALLOWED_HOSTS": "*"}, "ALLOWED_HOSTS accepts every host"),
        ({"ALLOWED_HOSTS": ""}, "ALLOWED_HOSTS is empty"),
        ({"SECRET_KEY": "abc" * 20}, "SECRET_KEY has fewer"),
        ({"OTP_KEYS": SAFE["WEBHOOK_KEYS"]}, "are the same"),
        ({"MFA_KEYS": ""}, "MFA_KEYS must hold at least one id:secret"),
        ({"MFA_KEYS": SAFE["OTP_KEYS"]}, "OTP_KEYS (key k1) and MFA_KEYS (key k1) are the same"),
        ({"OTP_KEYS": f"k1:{'a1' * 16}"}, "OTP_KEYS (key k1) has fewer"),
        ({"WEBHOOK_KEYS": f"k1:{'a1' * 16}"}, "WEBHOOK_KEYS (key k1) has fewer"),
        ({"EMAIL_URL": "console://"}, "EMAIL_URL sends no e-mails"),
        ({"DATABASE_URL": "postgresql://kvitok:secret@db/kvitok"}, "of .env.example"),
        ({"METRICS_HOST": "8.8.8.8"}, "METRICS_HOST"),
        ({"TRUSTED_PROXY_COUNT": "-1"}, "TRUSTED_PROXY_COUNT must be 0 or more"),
    ],
)
def test_unsafe_production_does_not_start(changes: dict[str, str], text: str) -> None:
    refused = start(**SAFE | changes)

    assert refused.returncode != 0
    assert text in refused.stderr.strip().splitlines()[-1]


def test_unchanged_example_does_not_start() -> None:
    lines = (ROOT / ".env.example").read_text(encoding="utf-8").splitlines()
    pairs = [line.split("#", 1)[0].strip().partition("=") for line in lines if "=" in line]
    example = {name: value for name, _, value in pairs if name.isupper()}
    keys = {name: SAFE[name] for name in ("SECRET_KEY", "OTP_KEYS", "WEBHOOK_KEYS", "MFA_KEYS")}

    refused = start(**example | keys)

    assert "PUBLIC_URL is an example" in refused.stderr
    assert "password of .env.example" in refused.stderr


def test_image_builds_with_settings_that_start() -> None:
    dockerfile = (ROOT / "deploy/Dockerfile").read_text(encoding="utf-8")
    command = dockerfile.split("\nRUN ")[-1].replace("\\\n", " ")
    command, _, _ = command.partition("collectstatic")
    env = {"PATH": f"{Path(sys.executable).parent}:/usr/bin:/bin"}

    done = subprocess.run(  # noqa: S602 - the image's own line
        f"{command} diffsettings",
        shell=True,
        cwd=ROOT,
        env=env,
        text=True,
        capture_output=True,
        check=False,
    )

    assert done.returncode == 0, done.stderr
    assert "PRODUCTION = True" in done.stdout


@pytest.mark.parametrize(
    ("url", "port", "encryption"),
    [
        ("smtp://mail.example", 25, ""),
        ("smtp://mail.example:2525", 2525, ""),
        ("smtp://mail.example:587?tls=1", 587, "TLS"),
        ("smtp://mail.example?tls=True", 587, "TLS"),
        ("smtp://mail.example:587?tls=0", 587, ""),
        ("smtp://mail.example:465?ssl=1", 465, "SSL"),
        ("smtp://mail.example:465", 465, "SSL"),
        ("smtp://mail.example:465?tls=1", 465, "SSL"),
        ("submission://mail.example", 587, "TLS"),
        ("smtp+tls://mail.example:587", 587, "TLS"),
        ("smtp+ssl://mail.example", 465, "SSL"),
        ("smtps://mail.example", 465, "SSL"),
        ("smtps://mail.example:587", 587, "TLS"),
        ("smtps://mail.example:2465", 2465, "SSL"),
    ],
)
def test_encryption_follows_the_url(url: str, port: int, encryption: str) -> None:
    result = parse(url)

    assert (result["EMAIL_HOST"], result["EMAIL_PORT"]) == ("mail.example", port)
    assert [name for name in ("TLS", "SSL") if result[f"EMAIL_USE_{name}"]] == encryption.split()


def test_user_and_password_are_decoded() -> None:
    result = parse("smtp://me%40x.example:p%23a%2Fs+s%25$@mail.example:587?tls=1")

    assert result["EMAIL_HOST_USER"] == "me@x.example"
    assert result["EMAIL_HOST_PASSWORD"] == "p#a/s+s%$"


@pytest.mark.parametrize(
    "url",
    [
        "mail.example:25",
        "mail.example",
        "//mail.example",
        "smtp://",
        "smtp+starttls://me:hunter2@mail.example",
        "http://me:hunter2@mail.example",
        "smtp://me:hunter2#x@mail.example:25",
        "smtp://me:hunter2/x?y@mail.example:25",
        "smtp://me:hunter2@mail.example:587?starttls=1",
        "smtp://me:hunter2@mail.example:587?tls=perhaps",
        "smtp://me:hunter2@mail.example:smtp",
        "smtp://me:hunter2@mail.example:587/?tls=1#x",
    ],
)
def test_unencrypted_email_url_is_refused_unquoted(url: str) -> None:
    with pytest.raises(ImproperlyConfigured) as caught:
        parse(url)

    assert str(caught.value).startswith("EMAIL_URL")
    assert "hunter2" not in str(caught.value)


PROVIDER = {"OIDC_ISSUER": "https://id.example.com", "OIDC_CLIENT_ID": "kvitok"}


@pytest.mark.parametrize(
    ("text", "grants"),
    [
        ("", ()),
        (" , ", ()),
        ("admins=superuser", (Grant("admins", "superuser"),)),
        ("a = staff , b=staff: Support", (Grant("a", "staff"), Grant("b", "staff", "Support"))),
        ("/acme/devs=developer:17", (Grant("/acme/devs", "developer", "17"),)),
        ("CN=Owners=owner:1", (Grant("CN=Owners", "owner", "1"),)),
        ("a=viewer:1,a=accountant:2", (Grant("a", "viewer", "1"), Grant("a", "accountant", "2"))),
    ],
)
def test_roles_are_read_in_their_order(text: str, grants: tuple[Grant, ...]) -> None:
    assert parse_roles(text) == grants


@pytest.mark.parametrize(
    "text",
    [
        "admins",
        "=superuser",
        "admins=",
        "admins=superuser:1",
        "admins=administrator",
        "devs=developer",
        "devs=developer:acme",
        "devs=developer:١٧",
        "devs=developer:-1",
    ],
)
def test_rules_that_grant_nothing_are_refused(text: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="OIDC_ROLES"):
        parse_roles(text)


@pytest.mark.parametrize(
    ("changes", "text"),
    [
        ({"OIDC_ISSUER": "https://id.example.com"}, "OIDC_ISSUER needs OIDC_CLIENT_ID"),
        (PROVIDER | {"OIDC_ISSUER": "id.example.com"}, "OIDC_ISSUER must be an https:// address"),
        (PROVIDER | {"OIDC_SCOPES": "email"}, "OIDC_SCOPES must contain openid"),
        ({"OIDC_ROLES": "a=superuser"}, "need OIDC_ISSUER"),
        (PROVIDER | {"OIDC_SESSION_HOURS": "0"}, "OIDC_SESSION_HOURS must be 1 or more"),
        (PROVIDER | {"PROXIES": "oidc=proxy"}, "PROXIES: oidc must be"),
    ],
)
def test_provider_that_cannot_work_is_refused_at_start(changes: dict[str, str], text: str) -> None:
    refused = start(**changes)

    assert text in refused.stderr.strip().splitlines()[-1]
