"""Operations on endpoints. Each is one transaction and one audit event."""

from collections.abc import Collection, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, TypedDict
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.db.models import Q, QuerySet
from django.urls import reverse
from django.utils import timezone
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.audit import record, save_changes
from accounts.jobs import Job
from accounts.models import TECHNICAL_ROLES, Company, User
from accounts.outbox import mail
from accounts.people import members
from catalogue.errors import DomainError, Error, invalid_input
from catalogue.texts import StrOrPromise
from webhooks import egress, signing
from webhooks.events import kinds_for, kinds_withdrawn
from webhooks.http_call import GONE
from webhooks.models import Delivery, Endpoint, EventKind

OLD_SECRET_LIFETIME = timedelta(hours=24)  # how long the old secret signs next to the new one
MAX_OLD_SECRETS = 8  # that sign an event: each lengthens the header
REPEAT_WINDOW = timedelta(minutes=1)
DESCRIPTION_LENGTH = 120

WRONG_KINDS = _("A list of events, at least one: {kinds}")
WRONG_URL: dict[str, StrOrPromise] = {
    "url": _("This is not a URL that can be called"),
    "scheme": _("The URL must begin with https://"),
    "port": _("The port must be 443 or 8443"),
    "address": _("The URL leads into a private network; it must be reachable from the internet"),
}
TOO_MANY_ENDPOINTS = format_lazy(
    _("A company has up to {max} endpoints: delete one first"), max=settings.MAX_ENDPOINTS
)

TOO_MANY_SECRETS = format_lazy(
    _("The secret was replaced {max} times within a day, and every old one still signs: wait"),
    max=MAX_OLD_SECRETS,
)
MONEY_EVENTS_FORBIDDEN = _(
    "This endpoint receives events about money: only a member who sees the balance may "
    "redirect them"
)
NOT_REGISTERED = _(
    "No enabled webhook of this mode has this host and port: register one for the host first"
)
URL_TAKEN = _("This URL is an endpoint already: change that one or delete it")


def check_url(url: str) -> str:
    """The normalised URL; raises `invalid_input`.

    The host is not resolved: DNS can be slow and can change, and every call checks it.
    """
    return _parse_url("url", url).url


def _parse_url(field: str, url: str) -> egress.Destination:
    try:
        return egress.parse_url(url)
    except egress.UrlError as error:
        raise invalid_input(**{field: WRONG_URL[error.failure.value]}) from None


class Callback(TypedDict):
    """A message's own destination for its events, as stored with the message."""

    url: str  # normalised
    endpoint: str  # hexadecimal id of the endpoint on the same host whose secret signs them


def find_callback(company_id: int, mode: str, url: str) -> Callback:
    """The destination of a message's events, on the host and port of an enabled endpoint.

    Raises `invalid_input` without such an endpoint. Of several the one with this exact URL signs,
    or else the oldest.
    """
    target = _parse_url("callback_url", url)
    enabled = Endpoint.objects.for_company(company_id).filter(mode=mode, disabled_at=None)
    candidates = [
        (stored != target.url, created_at, pk)
        for stored, created_at, pk in enabled.values_list("url", "created_at", "pk")
        if stored.startswith(f"{target.origin}/")
    ]
    if not candidates:
        raise invalid_input(callback_url=NOT_REGISTERED)
    *_order, endpoint_id = min(candidates)
    return {"url": target.url, "endpoint": endpoint_id.hex}


def check_kinds(kinds: object, scopes: Collection[str], stored: Iterable[str] = ()) -> list[str]:
    """The event kinds in order, each once; None means all that these scopes allow.

    Kinds that the endpoint has already (`stored`) may stay even if the scopes do not allow them.
    """
    allowed = kinds_for(scopes)
    if kinds is None:
        return allowed
    possible = {*allowed, *stored}
    if (
        not isinstance(kinds, list)
        or not kinds
        or not all(isinstance(kind, str) and kind in possible for kind in kinds)
    ):
        raise invalid_input(events=format_lazy(WRONG_KINDS, kinds=", ".join(allowed)))
    return [kind for kind in EventKind.values if kind in kinds]


@transaction.atomic
def create(
    *,
    company: Company,
    mode: str,
    url: str,
    kinds: Iterable[str],
    description: str = "",
    user: User | None,
    ip: str | None = None,
) -> tuple[Endpoint, str]:
    """Creates an endpoint; returns it with the secret that signs its events."""
    members.lock_for_key_manager(company, user)  # a parallel request waits here
    urls = _urls(company.pk, mode)
    if len(urls) >= settings.MAX_ENDPOINTS:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_ENDPOINTS)
    if url in urls:
        raise invalid_input(url=URL_TAKEN)
    endpoint = Endpoint.objects.create(
        company=company,
        mode=mode,
        url=url,
        kinds=list(kinds),
        description=description,
        key_id=signing.current_key_id(),
    )
    endpoint.refresh_from_db()
    record("webhook.created", url, company=company, user=user, ip=ip)
    return endpoint, secret_of(endpoint)


def _urls(company_id: int, mode: str) -> list[str]:
    rows = Endpoint.objects.for_company(company_id).filter(mode=mode)
    return list(rows.values_list("url", flat=True))


def secret_of(endpoint: Endpoint) -> str:
    return signing.secret(endpoint.pk, endpoint.key_id, endpoint.generation)


@transaction.atomic
def change(
    *,
    endpoint: Endpoint,
    changes: Mapping[str, Any],
    scopes: Collection[str],
    user: User | None,
    ip: str | None = None,
) -> None:
    """Saves changes of `url`, `kinds` and `description`; raises `invalid_input`.

    `scopes` are those of the actor.
    """
    members.lock_for_key_manager(endpoint.company, user)
    urls = _urls(endpoint.company_id, endpoint.mode)
    endpoint.refresh_from_db(fields=["url", "kinds", "description"])
    has_new_url = changes.get("url", endpoint.url) != endpoint.url
    if has_new_url and changes["url"] in urls:
        raise invalid_input(url=URL_TAKEN)
    if has_new_url and {*changes.get("kinds", endpoint.kinds)} - {*kinds_for(scopes)}:
        raise invalid_input(url=MONEY_EVENTS_FORBIDDEN)
    if values := save_changes(endpoint, changes):
        if "kinds" in values:
            _withdraw(endpoint)
        subject = f"{endpoint.url} ({', '.join(values)})"
        company = endpoint.company
        record("webhook.changed", subject, company=company, user=user, ip=ip, changes=values)


def _withdraw(endpoint: Endpoint) -> None:
    """Fails pending deliveries of kinds that the endpoint no longer subscribes to."""
    waiting = Delivery.objects.filter(endpoint=endpoint, due_at__isnull=False)
    waiting.filter(event__kind__in=kinds_withdrawn(endpoint.kinds)).update(
        state=Delivery.State.FAILED, due_at=None, finished_at=timezone.now()
    )


@transaction.atomic
def rotate(
    *,
    endpoint: Endpoint,
    user: User | None,
    ip: str | None = None,
    repeats_within: timedelta = timedelta(),
) -> str:
    """Creates a new secret. Every old secret signs for 24 hours, while its receivers switch over.

    A repeat within `repeats_within` is a double click and returns the same secret. Raises
    `invalid_input` if too many old secrets still sign.
    """
    members.lock_for_key_manager(endpoint.company, user)
    endpoint.refresh_from_db(from_queryset=Endpoint.objects.select_for_update(no_key=True))
    now = timezone.now()
    until = endpoint.previous_until
    if until is not None and now < until - OLD_SECRET_LIFETIME + repeats_within:
        return secret_of(endpoint)
    older = _old_secrets(endpoint, now)
    if len(older) >= MAX_OLD_SECRETS:
        raise DomainError(Error.INVALID_INPUT, message=TOO_MANY_SECRETS)
    endpoint.older_secrets = older
    endpoint.previous_key_id, endpoint.key_id = endpoint.key_id, signing.current_key_id()
    endpoint.generation += 1
    endpoint.previous_until = now + OLD_SECRET_LIFETIME
    endpoint.save(
        update_fields=["older_secrets", "previous_key_id", "key_id", "generation", "previous_until"]
    )
    record("webhook.rotated", endpoint.url, company=endpoint.company, user=user, ip=ip)
    return secret_of(endpoint)


def _old_secrets(endpoint: Endpoint, now: datetime) -> list[dict[str, Any]]:
    """The old secrets that still sign, including the previous one."""
    older = signing.still_signing(endpoint.older_secrets, now)
    if (until := endpoint.previous_until) is None or until <= now:
        return older
    key_id = endpoint.previous_key_id
    generation = endpoint.generation - 1
    return [*older, {"key_id": key_id, "generation": generation, "until": until.isoformat()}]


@transaction.atomic
def enable(*, endpoint: Endpoint, user: User | None, ip: str | None = None) -> None:
    """Enables the endpoint. Events of the pause are lost; failed deliveries can be replayed."""
    disabled = Endpoint.objects.filter(pk=endpoint.pk).exclude(disabled_at=None)
    if disabled.update(disabled_at=None, disabled_reason="", failing_since=None):
        record("webhook.enabled", endpoint.url, company=endpoint.company, user=user, ip=ip)
    endpoint.refresh_from_db()


@transaction.atomic
def disable(*, endpoint: Endpoint, user: User | None, ip: str | None = None) -> None:
    enabled = Endpoint.objects.filter(pk=endpoint.pk, disabled_at=None)
    if enabled.update(disabled_at=timezone.now(), disabled_reason=Endpoint.Reason.PERSON):
        record("webhook.disabled", endpoint.url, company=endpoint.company, user=user, ip=ip)
    endpoint.refresh_from_db()


@transaction.atomic
def delete(*, endpoint: Endpoint, user: User | None, ip: str | None = None) -> None:
    """Soft-deletes the endpoint: its row is purged after its last delivery."""
    if Endpoint.objects.filter(pk=endpoint.pk, deleted_at=None).update(deleted_at=timezone.now()):
        record("webhook.deleted", endpoint.url, company=endpoint.company, user=user, ip=ip)


def disable_if_failing(endpoint_id: UUID, status: int | None, round_at: datetime | None) -> None:
    """Disables an endpoint that responded with 410, or has accepted nothing since `round_at`.

    That is the first try, about a day ago, of a delivery that has now finally failed.
    """
    enabled = Endpoint.objects.filter(pk=endpoint_id, disabled_at=None)
    if status == GONE:
        disable_automatically(enabled, Endpoint.Reason.GONE)
    else:
        silent = enabled.exclude(last_success_at__gt=round_at)
        disable_automatically(silent, Endpoint.Reason.FAILING)


@transaction.atomic
def disable_automatically(several: QuerySet[Endpoint], reason: Endpoint.Reason) -> None:
    """Disables endpoints on behalf of the service and notifies owners and developers."""
    for endpoint in several.select_for_update(of=["self"], no_key=True).select_related("company"):
        endpoint.disabled_at = timezone.now()
        endpoint.disabled_reason = reason
        endpoint.save(update_fields=["disabled_at", "disabled_reason"])
        record("webhook.gave_up", endpoint.url, company=endpoint.company, user=None)
        key = f"endpoint-disabled:{endpoint.pk}:{endpoint.disabled_at.isoformat()}"
        _post("endpoint_disabled", endpoint, key=key)


def _post(template: str, endpoint: Endpoint, **more: Any) -> None:
    page = reverse("webhook-detail", args=[endpoint.public_id])
    context = {"endpoint": endpoint, "page_url": f"{settings.PUBLIC_URL}{page}"}
    mail.post_to_members(
        company=endpoint.company,
        roles=TECHNICAL_ROLES,
        template=template,
        context=context,
        kind=mail.NoticeKind.WEBHOOK,
        **more,
    )


JOB = Job("webhook_warnings", _("warnings about failing webhooks"))
# By then a deployment or a short outage of the receiver is over, and most of a day remains to fix
# it before retries end.
WARNED_AFTER = timedelta(hours=1)
# A receiver that fails and recovers all day long causes one warning, not twenty.
WARNED_AGAIN_AFTER = timedelta(days=1)


def warn_of_failing() -> None:
    now = timezone.now()
    due = _due(now).select_related("company").order_by("pk")
    JOB.each(due, lambda endpoint: _warn(endpoint, now))


def _due(now: datetime) -> QuerySet[Endpoint]:
    return Endpoint.objects.filter(
        Q(warned_at=None) | Q(warned_at__lte=now - WARNED_AGAIN_AFTER),
        disabled_at=None,
        deleted_at=None,
        failing_since__lte=now - WARNED_AFTER,
    )


@transaction.atomic  # one per endpoint: outcomes of other calls wait for its row
def _warn(endpoint: Endpoint, now: datetime) -> None:
    if not _due(now).filter(pk=endpoint.pk).update(warned_at=now):
        return  # it works again, or another worker has sent the warning
    _post("endpoint_failing", endpoint)
