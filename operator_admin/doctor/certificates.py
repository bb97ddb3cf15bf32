"""Checks of the certificates that our public addresses show."""

import socket
import ssl
import time
from dataclasses import dataclass
from urllib.parse import urlsplit

from django.conf import settings
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from operator_admin.doctor.finding import Finding, verdict

TIMEOUT = 4.0  # seconds
MIN_DAYS = 14  # renewals run from 30 days on; half of that leaves time to mend one
CURE = gettext_lazy("Renew it, then reload the proxy or the web process that uses it.")


@dataclass(frozen=True, slots=True)
class Certificate:
    host: str
    days: int | None  # left; None: not trusted, or the host does not answer
    detail: str

    @property
    def is_good(self) -> bool:
        return self.days is not None and self.days >= MIN_DAYS


def certificates() -> list[Finding]:
    return [
        verdict(f"certificate {one.host}", one.detail, CURE, ok=one.is_good) for one in inspect()
    ]


def inspect() -> list[Certificate]:
    """Of every public address that is https; each host once."""
    urls = [urlsplit(url) for url in (settings.PUBLIC_URL, settings.SHORT_URL)]
    hosts = dict.fromkeys((url.hostname, url.port or 443) for url in urls if url.scheme == "https")
    return [_inspect(host, port) for host, port in hosts if host]


def _inspect(host: str, port: int) -> Certificate:
    context = ssl.create_default_context()
    try:
        with (
            socket.create_connection((host, port), timeout=TIMEOUT) as plain,
            context.wrap_socket(plain, server_hostname=host) as encrypted,
        ):
            shown = encrypted.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        return Certificate(
            host,
            None,
            _("not trusted: {verify_message}").format(verify_message=error.verify_message),
        )
    except OSError as error:
        return Certificate(host, None, type(error).__name__)
    ends_at = ssl.cert_time_to_seconds(str(shown["notAfter"]))
    days = int((ends_at - time.time()) // 86_400)
    return Certificate(host, days, _("ends in {days} days").format(days=days))
