"""The mail server, from `EMAIL_URL`.

`smtp://user:password@host:587?tls=1`, where `tls` is STARTTLS and `ssl` is implicit TLS. The
schemes `submission` and `smtp+tls` mean STARTTLS, `smtps` and `smtp+ssl` implicit TLS. Misspelt
options are refused: they would send the password, and links that open accounts, unencrypted.
"""

from typing import Any
from urllib.parse import SplitResult, unquote, urlsplit

from django.core.exceptions import ImproperlyConfigured

from config.environment.variables import split_options

SSL_PORT = 465  # always implicit TLS: RFC 8314, 7.3
_SMTP = {"smtp": "", "submission": "tls", "smtp+tls": "tls", "smtps": "ssl", "smtp+ssl": "ssl"}
_PORTS = {"": 25, "tls": 587, "ssl": SSL_PORT}
_DJANGO = "django.core.mail.backends"
_BACKENDS = {
    "files": "config.local.file_email_backend",
    "console": f"{_DJANGO}.console",
    "file": f"{_DJANGO}.filebased",
    "memory": f"{_DJANGO}.locmem",
    "dummy": f"{_DJANGO}.dummy",
}
_TRUE = {"1", "true", "yes", "on"}
_FALSE = {"0", "false", "no", "off"}
_SHAPE = (
    "EMAIL_URL must be smtp://user:password@host:587?tls=1, or ?ssl=1 on port 465, "
    "where # / ? @ in a user name or password are %23 %2F %3F %40"
)


def parse(text: str) -> dict[str, Any]:
    """Returns Django's settings; raises ImproperlyConfigured, whose text never quotes the URL."""
    try:
        address, options = split_options(text)
        url = urlsplit(address)
        port = url.port
    except ValueError:
        raise ImproperlyConfigured(_SHAPE) from None
    backend = _BACKENDS.get(url.scheme, f"{_DJANGO}.smtp")
    if url.scheme not in _BACKENDS and not _is_server(url):
        raise ImproperlyConfigured(_SHAPE)
    encryption = _encryption(url.scheme, port, options)
    return {
        "EMAIL_BACKEND": f"{backend}.EmailBackend",
        "EMAIL_HOST": url.hostname or "localhost",
        "EMAIL_PORT": port or _PORTS[encryption],
        "EMAIL_HOST_USER": unquote(url.username or ""),
        "EMAIL_HOST_PASSWORD": unquote(url.password or ""),
        "EMAIL_USE_TLS": encryption == "tls",
        "EMAIL_USE_SSL": encryption == "ssl",
    }


def _is_server(url: SplitResult) -> bool:
    return url.scheme in _SMTP and bool(url.hostname) and not (url.path.strip("/") or url.fragment)


def _encryption(scheme: str, port: int | None, options: dict[str, str]) -> str:
    encryption = _SMTP.get(scheme, "")
    for name, value in options.items():
        if name not in {"tls", "ssl"} or value.lower() not in _TRUE | _FALSE:
            raise ImproperlyConfigured("EMAIL_URL: its options are tls=1 and ssl=1")
        if value.lower() in _TRUE:
            encryption = name
    if port == SSL_PORT:
        return "ssl"
    # Some programs call STARTTLS `smtps`; servers on these ports understand only STARTTLS.
    return "tls" if encryption == "ssl" and port in {25, 587} else encryption
