"""The addresses and proxies of calls to vendors: `PROXIES` and `VENDOR_URLS`."""

from collections.abc import Mapping
from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import env

DIRECT = "direct"  # without the general proxy
# Not socks4 and socks5, with which we would resolve names: the proxy should.
PROXY_SCHEMES = ("http", "https", "socks5h")


def named(text: str) -> dict[str, str]:
    """Reads `smsc=https://smsc.kz,twilio:kz=…`; the general value has an empty name."""
    pairs = (pair.strip().rpartition("=") for pair in text.split(",") if pair.strip())
    return {name.strip(): value.strip().rstrip("/") for name, _sign, value in pairs}


def _proxies() -> dict[str, str]:
    proxies = named(env.str("PROXIES", ""))
    for name, text in proxies.items():
        if text != DIRECT and not _is_proxy(text):  # never quoted: it may hold a password
            raise ImproperlyConfigured(
                f"PROXIES: {name or 'the general proxy'} must be http://host:port, "
                "https://host:port or socks5h://host:port, with user:password@ before the host "
                f"if the proxy wants them (percent-encoded), or {DIRECT}"
            )
    return proxies


def _is_proxy(text: str) -> bool:
    try:
        url = urlsplit(text)
        is_whole = bool(url.hostname and url.port) and not (url.path or url.query or url.fragment)
    except ValueError:
        return False
    return is_whole and url.scheme in PROXY_SCHEMES and text.isascii()


PROXIES = _proxies()
VENDOR_URLS = named(env.str("VENDOR_URLS", ""))


def first_of(values: Mapping[str, str], *names: str) -> str:
    return next((values[name] for name in names if values.get(name)), "")


def proxy(*names: str) -> str:
    """The proxy of the first name that has one, else the general one; empty for none."""
    url = first_of(PROXIES, *names, "")
    return "" if url == DIRECT else url


def check_names(accounts: set[str]) -> None:
    """Raises ImproperlyConfigured for an unknown name: a misspelt one would have no effect."""
    for variable, addresses in (("PROXIES", PROXIES), ("VENDOR_URLS", VENDOR_URLS)):
        allowed = accounts | ({""} if variable == "PROXIES" else set())
        if unknown := addresses.keys() - allowed:
            raise ImproperlyConfigured(
                f"{variable}: no such account: {min(unknown)!r}; known: "
                f"{', '.join(sorted(filter(None, allowed)))}"
            )
