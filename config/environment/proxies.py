"""Proxies for calls to vendors: some networks block one, some vendors want to know our IP."""

from urllib.parse import urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import env

DIRECT = "direct"  # past OUTGOING_PROXY
# Not socks4 and socks5: with them the name would be resolved here, and by whom is often the point.
SCHEMES = ("http", "https", "socks5h")


def parse(text: str, name: str) -> str:
    """The proxy's URL, or "" for none. Errors never quote it: it may hold a password."""
    if not text or text == DIRECT:
        return ""
    try:
        url = urlsplit(text)
        is_usable = bool(url.hostname and url.port) and url.path in {"", "/"} and text.isascii()
    except ValueError:
        is_usable = False
    if not is_usable or url.scheme not in SCHEMES or url.query or url.fragment:
        raise ImproperlyConfigured(
            f"{name} must be http://host:port, https://host:port or socks5h://host:port, with "
            f"user:password@ before the host if the proxy wants them (percent-encoded), or {DIRECT}"
        )
    return text.rstrip("/")


OUTGOING_PROXY = parse(env.str("OUTGOING_PROXY", ""), "OUTGOING_PROXY")


def for_account(text: str, name: str) -> str:
    """An account's own proxy, else the one of all."""
    return parse(text, name) if text else OUTGOING_PROXY
