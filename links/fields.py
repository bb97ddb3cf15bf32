"""The request fields of links."""

from accounts.fields import Fields
from accounts.keys import Principal
from accounts.models import Company
from config.errors import DomainError, Error
from links import slugs, targets
from links.services import SLUG_LENGTH, SLUG_LENGTH_IN_MESSAGES, NewLink

MINUTE, MONTH, FIVE_YEARS = 60, 2_592_000, 157_680_000
TEXT_LENGTH = 500
# What strangers can make before anybody has looked at them must not look trusted or last.
PENDING_LIFETIME = 3600
NO_ALIAS_YET = (
    "Свои имена ссылок заработают, когда компанию подтвердят",
    "Aliases work once the company is approved",
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


def _is_pending(principal: Principal) -> bool:
    return principal.company_status == Company.Status.PENDING


def _lifetime(asked: int | None, principal: Principal) -> int | None:
    lifetime = asked or principal.default_link_lifetime
    if _is_pending(principal):
        return min(lifetime or PENDING_LIFETIME, PENDING_LIFETIME)
    return lifetime
