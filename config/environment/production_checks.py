"""Checks with which production refuses unsafe settings, such as weak secrets, with remedies."""

import re
from collections.abc import Iterator, Mapping
from ipaddress import ip_address
from itertools import combinations, pairwise
from typing import Any
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from billing.gateways.declarations import GATEWAYS
from storage.key_rings import KEYRINGS

SAMPLE = 256  # characters checked; longer secrets repeat trigrams by chance
MIN_DISTINCT_CHARACTERS = 10  # 32 random hexadecimal digits have 14 on average
_PLACEHOLDERS = re.compile(
    r"change|secret|passw|example|insecure|placeholder|kvitok|default|qwerty|s3cret|your[-_ ]",
    re.IGNORECASE,
)


def weakness(secret: str) -> str:
    """The reason why the secret is weak, as the end of a sentence; empty if it looks random."""
    text = secret[:SAMPLE]
    if word := _PLACEHOLDERS.search(text):
        return f"contains the word '{word[0].lower()}'"
    if len(set(text)) < MIN_DISTINCT_CHARACTERS:
        return f"has fewer than {MIN_DISTINCT_CHARACTERS} different characters"
    kinds = (str.islower, str.isupper, str.isdigit)
    if sum(sum(map(is_kind, text)) > 1 for is_kind in kinds) < 2:
        return "has no mix of letters and digits"
    trigrams = [text[start : start + 3] for start in range(len(text) - 2)]
    if len(set(trigrams)) < 0.8 * len(trigrams):
        return "repeats itself"
    steps = [abs(ord(char) - ord(other)) for char, other in pairwise(text)]
    if sum(step <= 1 for step in steps) > 0.5 * len(steps):
        return "is a sequence of neighbouring characters"
    return ""


ENVIRONMENTS = ("production", "development", "test")
NEW_KEY = "generate a new one: python -c 'import secrets; print(secrets.token_urlsafe(60))'"
# E-mail backends that send nothing: nobody could confirm an address.
_LOCAL_MAIL = (
    "config.local.file_email_backend.",
    *(f"django.core.mail.backends.{kind}." for kind in ("console", "filebased", "locmem", "dummy")),
)
_NOT_IN_HOST = re.compile(r"[/\s]|:[0-9]*\Z")  # allows [::1]
_EXAMPLE_HOSTS = ("example.com", "example.org", "example.net")  # RFC 2606: reserved


def validate_environment(name: str) -> str:
    """Returns the name; a misspelt one must not mean development, with its simulated payments."""
    if name not in ENVIRONMENTS:
        raise ImproperlyConfigured(
            f"ENVIRONMENT is {name!r}: set it to {', '.join(ENVIRONMENTS[:-1])} "
            f"or {ENVIRONMENTS[-1]}, in lower case"
        )
    return name


def require_safe(values: Mapping[str, Any]) -> None:
    """Raises ImproperlyConfigured with every problem at once."""
    if listed := list(problems(values)):
        raise ImproperlyConfigured("not safe in production: " + "; ".join(listed))


def problems(values: Mapping[str, Any]) -> Iterator[str]:
    """Checks settings in a dict; messages never quote a secret."""
    if values["DEBUG"]:
        yield "DEBUG is on: unset it"
    for check in (_addresses, _hosts, _secrets, _mail, _money, _vendors, _metrics):
        yield from check(values)


def _addresses(values: Mapping[str, Any]) -> Iterator[str]:
    for name in ("PUBLIC_URL", "SHORT_URL"):
        try:
            url = urlsplit(values[name])
            host, _port = url.hostname or "", url.port
        except ValueError:
            host = ""
            url = urlsplit("")
        if url.scheme != "https" or not host or url.query or url.fragment or url.username:
            yield f"{name} is unset or not https: set it to https:// and your host"
        elif url.path.strip("/"):
            yield f"{name} has a path: the service needs a host of its own, such as go.your.host"
        elif host in _EXAMPLE_HOSTS or host.endswith(tuple(f".{name}" for name in _EXAMPLE_HOSTS)):
            yield f"{name} is an example: set it to https:// and your own host"


def _hosts(values: Mapping[str, Any]) -> Iterator[str]:
    hosts = values["ALLOWED_HOSTS"]
    if not any(hosts):
        yield "ALLOWED_HOSTS is empty: list your hosts, separated by commas"
    if any(host.startswith(("*", ".*")) or host == "." for host in hosts):
        yield "ALLOWED_HOSTS accepts every host: list your own instead of *"
    if any(_NOT_IN_HOST.search(host) for host in hosts):
        yield "ALLOWED_HOSTS must list only hosts: without https://, port or path"


def _secrets(values: Mapping[str, Any]) -> Iterator[str]:
    secrets = {"SECRET_KEY": values["SECRET_KEY"]}
    for number, old in enumerate(values["SECRET_KEY_FALLBACKS"], start=1):
        secrets[f"SECRET_KEY_FALLBACKS (number {number})"] = old
    for ring in KEYRINGS:
        for key_id, secret in values[ring].items():
            secrets[f"{ring} (key {key_id})"] = secret.decode()
    for name, secret in secrets.items():
        if why := weakness(secret):
            yield f"{name} {why}: {NEW_KEY}"
    for (name, secret), (other, same) in combinations(secrets.items(), 2):
        if secret == same:
            yield f"{name} and {other} are the same: give each a value of its own"
    if values["DATABASES"]["default"].get("PASSWORD") == "secret":
        yield "DATABASE_URL has the password of .env.example: give the database another one"


def _mail(values: Mapping[str, Any]) -> Iterator[str]:
    if values["EMAIL_BACKEND"].startswith(_LOCAL_MAIL):
        yield "EMAIL_URL sends no e-mails: set it to smtp://user:password@host:587?tls=1"


def _money(values: Mapping[str, Any]) -> Iterator[str]:
    for name in values["PAYMENT_GATEWAYS"]:
        if GATEWAYS[name].is_demo:
            yield f"PAYMENT_GATEWAYS: {name} takes no money: not in production"
    if not values["OPERATOR_MFA"]:
        yield "OPERATOR_MFA cannot be off in production: unset it"


def _vendors(values: Mapping[str, Any]) -> Iterator[str]:
    urls = [options.get("api_url") for options in values["PROVIDER_ACCOUNTS"].values()]
    urls += [options.get("url") for options in values["GATEWAY_ACCOUNTS"].values()]
    if not all(url.startswith("https://") for url in urls if url):
        yield "VENDOR_URLS must be https in production"
    if values["SIMULATOR_URL"]:
        yield "SIMULATOR_URL belongs to development: unset it"


def _metrics(values: Mapping[str, Any]) -> Iterator[str]:
    try:
        is_public = ip_address(values["METRICS_HOST"]).is_global
    except ValueError:  # a host name, not an address
        is_public = False
    if is_public:
        yield "METRICS_HOST is a public address: listen on 127.0.0.1 or a private one"
