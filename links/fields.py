"""The request fields of links."""

from accounts.fields import Fields
from accounts.keys import Principal
from accounts.models import Company
from config.errors import DomainError, Error
from links import slugs, targets
from links.managing import Change
from links.services import SLUG_LENGTH, SLUG_LENGTH_IN_MESSAGES, NewLink

MINUTE, MONTH, FIVE_YEARS = 60, 2_592_000, 157_680_000
TEXT_LENGTH = 500
# What strangers can make before anybody has looked at them must not look trusted or last.
PENDING_LIFETIME = 3600
NO_ALIAS_YET = (
    "Свои имена ссылок заработают, когда компанию подтвердят",
    "Aliases work once the company is approved",
)


NOT_BOTH = (
    "Укажите либо expires_in, либо never_expires",
    "Give either expires_in or never_expires",
)


def link_of_code(fields: Fields, principal: Principal) -> NewLink | None:
    """`link` and `link_expires_in`; the latter is range-checked even without the former."""
    url = fields.text("link", longest=10_000)
    lifetime = fields.integer("link_expires_in", least=MINUTE, most=MONTH)
    if url is None or fields.errors:
        return None
    return NewLink(
        url=targets.check_target(url, field="link"),
        lifetime=_lifetime(lifetime, principal),
        length=SLUG_LENGTH_IN_MESSAGES,
    )


def new_link(fields: Fields, principal: Principal, *, length: int = SLUG_LENGTH) -> NewLink | None:
    """`url`, `alias`, `expires_in`; None when a field is at fault, as `fields` then knows."""
    url = fields.text("url", required=True, longest=10_000)
    alias = fields.text("alias", longest=200)
    lifetime = fields.integer("expires_in", least=MINUTE, most=FIVE_YEARS)
    if url is None or fields.errors:
        return None
    if alias is not None and _is_pending(principal):
        raise DomainError(Error.FORBIDDEN, message=NO_ALIAS_YET)
    target = targets.check_target(url)
    if alias is not None:
        slugs.check_alias(alias)
    return NewLink(
        url=target,
        alias=alias,
        lifetime=_lifetime(lifetime, principal),
        length=length,
    )


def change_of(fields: Fields, principal: Principal) -> Change:
    """`url`, `expires_in`, `never_expires`, `enabled`: what is left out stays as it is."""
    url = fields.text("url", longest=10_000)
    lifetime = fields.integer("expires_in", least=MINUTE, most=FIVE_YEARS)
    is_endless = fields.boolean("never_expires")
    is_enabled = fields.boolean("enabled")
    if is_endless and lifetime is not None:
        fields.fault("never_expires", NOT_BOTH)
    fields.check()
    if is_endless and _is_pending(principal):
        lifetime, is_endless = PENDING_LIFETIME, False
    return Change(
        url=None if url is None else targets.check_target(url),
        lifetime=None if lifetime is None else _lifetime(lifetime, principal),
        is_endless=bool(is_endless),
        is_enabled=is_enabled,
    )


def _is_pending(principal: Principal) -> bool:
    return principal.company_status == Company.Status.PENDING


def _lifetime(asked: int | None, principal: Principal) -> int | None:
    lifetime = asked or principal.default_link_lifetime
    if _is_pending(principal):
        return min(lifetime or PENDING_LIFETIME, PENDING_LIFETIME)
    return lifetime
