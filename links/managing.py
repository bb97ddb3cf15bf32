"""What becomes of links once they are made: shown, changed, switched off and on again."""

from dataclasses import dataclass
from datetime import timedelta
from functools import partial

from django.db import transaction
from django.utils import timezone

from accounts import services as accounts
from accounts.models import User
from config.errors import DomainError, Error
from links import resolution
from links.models import Link


@dataclass(frozen=True, slots=True)
class Change:
    """None: as it is. `lifetime` is in seconds from now, `is_endless` for ever."""

    url: str | None = None
    lifetime: int | None = None
    is_endless: bool = False
    is_enabled: bool | None = None


@transaction.atomic
def change(*, link: Link, wanted: Change, user: User | None = None, ip: str | None = None) -> Link:
    """The link as it is then; raises `alias_taken` when its name was handed on meanwhile."""
    link = Link.objects.select_for_update(of=("self",)).select_related("company").get(pk=link.pk)
    if link.retired_at is not None:
        raise DomainError(Error.ALIAS_TAKEN)
    fields = _apply(link, wanted)
    if not fields:
        return link
    link.save(update_fields=fields)
    action = "link.disabled" if wanted.is_enabled is False else "link.changed"
    accounts.record(action, link, company=link.company, user=user, ip=ip)
    transaction.on_commit(partial(resolution.forget, link))
    return link


def _apply(link: Link, wanted: Change) -> list[str]:
    before = (link.url, link.expires_at, link.disabled_at)
    if wanted.url is not None:
        link.url = wanted.url
    if wanted.is_endless:
        link.expires_at = None
    elif wanted.lifetime is not None:
        link.expires_at = timezone.now() + timedelta(seconds=wanted.lifetime)
    if wanted.is_enabled is not None:
        off = link.disabled_at or timezone.now()
        link.disabled_at = None if wanted.is_enabled else off
    after = (link.url, link.expires_at, link.disabled_at)
    names = ("url", "expires_at", "disabled_at")
    return [name for name, was, now in zip(names, before, after, strict=True) if was != now]
