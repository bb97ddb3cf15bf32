"""Checks from outside: public URLs, the proxies in front, the mail server."""

import secrets
from pathlib import Path
from typing import Any

import requests
from django.conf import settings
from django.core.mail import get_connection
from django.utils.translation import gettext as _

from config.server import probe
from operator_admin.doctor.finding import Finding, failed, passed, verdict

TIMEOUT = 4.0
FORGED_IP = "192.0.2.77"  # a documentation address (RFC 5737) that a client might forge
UNDERSCORE_IP = (
    "192.0.2.78"  # sent in `X_Forwarded_For`, which most servers confuse with the real header
)


def mail_server() -> Finding:
    cure = _("Correct EMAIL_URL.")
    backend = settings.EMAIL_BACKEND.split(".")[-2]
    if backend in {"filebased", "letter_files"}:
        get_connection()  # makes the folder
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
        return failed("mail", f"{settings.EMAIL_HOST}: {type(error).__name__}", cure)
    return passed("mail", backend if backend != "smtp" else str(settings.EMAIL_HOST))


def public_url() -> Finding:
    cure = _(
        "Mend PUBLIC_URL, DNS, the certificate or the proxy until this answers: curl {url}/livez"
    ).format(url=settings.PUBLIC_URL)
    try:
        answer = _get(f"{settings.PUBLIC_URL}/livez")
    except requests.RequestException as error:
        return failed("public URL", f"{settings.PUBLIC_URL}: {type(error).__name__}", cure)
    detail = _("{url} answers {status}").format(url=settings.PUBLIC_URL, status=answer.status_code)
    return verdict("public URL", detail, cure, ok=answer.status_code == requests.codes.ok)


def proxies() -> Finding:
    """Asks the service, by a signed probe, which client address it would trust."""
    headers = {
        probe.HEADER: probe.sign(),
        "X-Forwarded-For": FORGED_IP,
        "X_Forwarded_For": UNDERSCORE_IP,
    }
    try:
        answer = _get(f"{settings.PUBLIC_URL}/livez", headers).json()
        seen: dict[str, Any] = answer["seen"]
    except (requests.RequestException, ValueError, KeyError, TypeError):
        cure = _("See `public URL`; behind it must be this very service, with the same SECRET_KEY.")
        return failed("proxies", _("the service did not say what it sees"), cure)
    return _judge_proxies(seen)


def _judge_proxies(seen: dict[str, Any]) -> Finding:
    trusted, added = settings.TRUSTED_PROXY_COUNT, int(seen["forwarded"]) - 1
    detail = _("TRUSTED_PROXY_COUNT={trusted}, {added} before us added an address").format(
        trusted=trusted, added=max(added, 0)
    )
    if seen["client_ip"] == UNDERSCORE_IP:
        cure = _(
            "Start the web process with `python -m config.web_server`, which drops such names."
        )
        return failed("proxies", _("X_Forwarded_For was believed"), cure)
    if seen["client_ip"] == FORGED_IP:
        cure = _("Lower TRUSTED_PROXY_COUNT: as it is, anybody can claim any address.")
        return failed(
            "proxies", _("{detail}: a forged address was believed").format(detail=detail), cure
        )
    if added > trusted:
        cure = _(
            "Set TRUSTED_PROXY_COUNT={added}: as it is, everybody has the proxy's address."
        ).format(added=added)
        return failed("proxies", detail, cure)
    is_secure = settings.PUBLIC_URL.startswith("https://")
    if is_secure and not seen["secure"]:
        cure = _("Have the proxy set X-Forwarded-Proto, and TRUSTED_PROXY_COUNT count it.")
        return failed("proxies", _("HTTPS outside is plain HTTP to the service"), cure)
    return passed("proxies", detail)


def short_host() -> Finding:
    """Requests an impossible slug: only our own 404 passes."""
    url = f"{settings.SHORT_URL}/{secrets.token_hex(12)}"
    cure = _("Point SHORT_URL's host at the web process, with its Host kept: curl -I {url}").format(
        url=url
    )
    try:
        answer = _get(url)
    except requests.RequestException as error:
        return failed("short host", f"{settings.SHORT_URL}: {type(error).__name__}", cure)
    is_ours = answer.status_code == requests.codes.not_found and (
        "noindex" in answer.headers.get("X-Robots-Tag", "")
    )
    detail = _("{url} answers {status}").format(url=settings.SHORT_URL, status=answer.status_code)
    return verdict("short host", detail, cure, ok=is_ours)


def _get(url: str, headers: dict[str, str] | None = None) -> requests.Response:
    return requests.get(url, headers=headers, timeout=TIMEOUT, allow_redirects=False)
