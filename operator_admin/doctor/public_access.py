"""Checks from outside: addresses, certificates, proxies, mail; and who may sign in to the admin."""

import secrets
import socket
import ssl
import time
from dataclasses import dataclass
from email.utils import parseaddr
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import requests
from django.conf import settings
from django.contrib.auth.models import Group
from django.core.mail import get_connection
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Company, User
from accounts.oidc import discovery
from accounts.oidc.grants import STAFF, SUPERUSER
from accounts.oidc.refusals import RefusedError
from accounts.security import reauthentication
from operator_admin.doctor.finding import Finding, failed, finding, passed
from processes.server import probe

TIMEOUT = 4.0  # seconds
# The domains of the default and of .env.example (reserved by RFC 2606).
_PLACEHOLDER_DOMAINS = ("@localhost", "@example.com")
FORGED_IP = "192.0.2.77"  # a documentation address (RFC 5737) that a client might forge
# Sent in `X_Forwarded_For`, which most servers confuse with the real header.
UNDERSCORE_IP = "192.0.2.78"


def mail_server() -> Finding:
    remedy = _("Correct EMAIL_URL.")
    backend = settings.EMAIL_BACKEND.split(".")[-2]
    if backend in {"filebased", "file_email_backend"}:
        get_connection()  # creates the folder
        return passed(
            "mail",
            _("e-mails are written to {name}/").format(name=Path(settings.EMAIL_FILE_PATH).name),
        )
    connection = get_connection(timeout=TIMEOUT)
    try:
        try:
            connection.open()
        finally:
            connection.close()
    except OSError as error:  # smtplib's and socket errors are subclasses
        return failed("mail", f"{settings.EMAIL_HOST}: {type(error).__name__}", remedy)
    sender = parseaddr(settings.DEFAULT_FROM_EMAIL)[1]
    if settings.PRODUCTION and sender.endswith(_PLACEHOLDER_DOMAINS):
        remedy = _("Set DEFAULT_FROM_EMAIL to an address that your mail server sends from.")
        detail = _("e-mails come from {sender}, which servers refuse").format(sender=sender)
        return failed("mail", detail, remedy)
    return passed("mail", backend if backend != "smtp" else str(settings.EMAIL_HOST))


def public_url() -> Finding:
    remedy = _(
        "Fix PUBLIC_URL, DNS, the certificate or the proxy until this answers: curl {url}/livez"
    ).format(url=settings.PUBLIC_URL)
    try:
        status = _get(f"{settings.PUBLIC_URL}/livez").status_code
    except requests.RequestException as error:
        return failed("public URL", f"{settings.PUBLIC_URL}: {type(error).__name__}", remedy)
    detail = _("{url} answers {status}").format(url=settings.PUBLIC_URL, status=status)
    return finding("public URL", detail, remedy, ok=status == requests.codes.ok)


def proxies() -> Finding:
    """Asks the service with a signed probe which client address it trusts."""
    headers = {
        probe.HEADER: probe.sign(),
        "X-Forwarded-For": FORGED_IP,
        "X_Forwarded_For": UNDERSCORE_IP,
    }
    try:
        request_seen: dict[str, Any] = _get(f"{settings.PUBLIC_URL}/livez", headers).json()["seen"]
    except (requests.RequestException, ValueError, KeyError, TypeError):
        remedy = _("See `public URL`; it must lead to this very service, with the same SECRET_KEY.")
        return failed("proxies", _("the service did not say what it sees"), remedy)
    return _judge_proxies(request_seen)


def _judge_proxies(request_seen: dict[str, Any]) -> Finding:
    trusted = settings.TRUSTED_PROXY_COUNT
    added = int(request_seen["forwarded"]) - 1
    detail = _("TRUSTED_PROXY_COUNT={trusted}, proxies that added an address: {added}").format(
        trusted=trusted, added=max(added, 0)
    )
    if request_seen["client_ip"] == UNDERSCORE_IP:
        remedy = _(
            "Start the web process with `python -m config.web_server`, which drops names with `_`."
        )
        return failed("proxies", _("X_Forwarded_For was believed"), remedy)
    if request_seen["client_ip"] == FORGED_IP:
        remedy = _("Lower TRUSTED_PROXY_COUNT: as it is, anybody can claim any address.")
        return failed(
            "proxies", _("{detail}: a forged address was believed").format(detail=detail), remedy
        )
    if added > trusted:
        remedy = _(
            "Set TRUSTED_PROXY_COUNT={added}: as it is, everybody has the proxy's address."
        ).format(added=added)
        return failed("proxies", detail, remedy)
    is_secure = settings.PUBLIC_URL.startswith("https://")
    if is_secure and not request_seen["secure"]:
        remedy = _("Let the proxy set X-Forwarded-Proto, and count it in TRUSTED_PROXY_COUNT.")
        return failed("proxies", _("HTTPS outside is plain HTTP to the service"), remedy)
    return passed("proxies", detail)


def short_host() -> Finding:
    """Requests an impossible slug: only our own 404 passes."""
    url = f"{settings.SHORT_URL}/{secrets.token_hex(12)}"
    remedy = _(
        "Point SHORT_URL's host at the web process, with its Host kept: curl -I {url}"
    ).format(url=url)
    try:
        response = _get(url)
    except requests.RequestException as error:
        return failed("short host", f"{settings.SHORT_URL}: {type(error).__name__}", remedy)
    is_ours = response.status_code == requests.codes.not_found and (
        "noindex" in response.headers.get("X-Robots-Tag", "")
    )
    detail = _("{url} answers {status}").format(url=settings.SHORT_URL, status=response.status_code)
    return finding("short host", detail, remedy, ok=is_ours)


def _get(url: str, headers: dict[str, str] | None = None) -> requests.Response:
    return requests.get(url, headers=headers, timeout=TIMEOUT, allow_redirects=False)


MIN_DAYS = 14  # renewals start at 30 days; half of that leaves time to fix a failed one
CERTIFICATE_REMEDY = gettext_lazy(
    "Renew it, then reload the proxy or the web process that uses it."
)


@dataclass(frozen=True, slots=True)
class Certificate:
    host: str
    days: int | None  # days left; None: not trusted, or the host does not answer
    detail: str

    @property
    def is_good(self) -> bool:
        return self.days is not None and self.days >= MIN_DAYS


def certificates() -> list[Finding]:
    return [
        finding(f"certificate {state.host}", state.detail, CERTIFICATE_REMEDY, ok=state.is_good)
        for state in inspect()
    ]


def inspect() -> list[Certificate]:
    """The certificate of every public https address; each host once."""
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
            certificate = encrypted.getpeercert() or {}
    except ssl.SSLCertVerificationError as error:
        why = _("not trusted: {verify_message}").format(verify_message=error.verify_message)
        return Certificate(host, None, why)
    except OSError as error:
        return Certificate(host, None, type(error).__name__)
    ends_at = ssl.cert_time_to_seconds(str(certificate["notAfter"]))
    days = int((ends_at - time.time()) // 86_400)
    return Certificate(host, days, _("ends in {days} days").format(days=days))


PROVIDER = "single sign-on"
ROLES = "sign-on roles"


def identity_provider() -> list[Finding]:
    return [_read_provider(settings.OIDC_ISSUER)] if settings.OIDC_ISSUER else []


def _read_provider(issuer: str) -> Finding:
    """Reads the provider's published metadata and keys, like a sign-in does."""
    try:
        discovery.clear_cache()
        document = discovery.metadata()
        keys = discovery.signing_keys()
    except RefusedError as error:
        remedy = _(
            "OIDC_ISSUER must be the `issuer` that the provider writes, to the last slash: "
            "curl {issuer}/.well-known/openid-configuration"
        ).format(issuer=issuer.rstrip("/"))
        return failed(PROVIDER, f"{issuer}: {error.detail}", remedy)
    if not keys:
        accepted = ", ".join(sum(discovery.ALGORITHMS.values(), ()))
        remedy = _("Have it sign with one of {names}.").format(names=accepted)
        detail = _("{issuer} has no key that is accepted").format(issuer=issuer)
        return failed(PROVIDER, detail, remedy)
    if "S256" not in document.get("code_challenge_methods_supported", ["S256"]):
        detail = _("{issuer} refuses PKCE with S256").format(issuer=issuer)
        return failed(PROVIDER, detail, _("Allow PKCE with S256 there."))
    return passed(PROVIDER, _("{issuer}, {count} keys").format(issuer=issuer, count=len(keys)))


def operators() -> Finding:
    staff = User.objects.filter(is_staff=True, is_active=True)
    without_factor = staff.exclude(authenticator__type__in=reauthentication.FACTORS).count()
    detail = _("operators: {count}, without a second factor: {without_factor}").format(
        count=staff.count(), without_factor=without_factor
    )
    remedy = _("Ask them to open /admin/ and set it up: they can open nothing else until they do.")
    if not settings.OPERATOR_MFA:
        detail += _("; this service does not require one")
    return finding("operators", detail, remedy, ok=not without_factor or not settings.OPERATOR_MFA)


def identity_roles() -> list[Finding]:
    """Checks that companies and groups of roles exist: otherwise they silently grant nothing."""
    if not settings.OIDC_ROLES:
        return []
    missing = [*_missing_companies(), *_missing_groups()]
    if missing:
        remedy = _("Fix OIDC_ROLES, or create them in the admin: until then they grant nothing.")
        return [failed(ROLES, _("there is no {names}").format(names=", no ".join(missing)), remedy)]
    return [passed(ROLES, _("{count} rules").format(count=len(settings.OIDC_ROLES)))]


def _missing_companies() -> list[str]:
    ids = {int(row.target) for row in settings.OIDC_ROLES if row.role not in {STAFF, SUPERUSER}}
    existing = Company.objects.filter(pk__in=ids).values_list("pk", flat=True)
    return [f"company {pk}" for pk in sorted(ids - set(existing))]


def _missing_groups() -> list[str]:
    names = {role.target for role in settings.OIDC_ROLES if role.role == STAFF and role.target}
    existing = Group.objects.filter(name__in=names).values_list("name", flat=True)
    return [f"group {name}" for name in sorted(names - set(existing))]
