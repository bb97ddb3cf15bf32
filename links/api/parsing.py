"""Converts the request fields of links into arguments of the use cases."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from accounts.models import Company
from api.request_fields import RequestFields
from catalogue.errors import DomainError, Error
from links.addresses import aliases, short_hosts, target_urls
from links.addresses.short_hosts import Host
from links.api import fields as link_fields
from links.api import lifetime_fields
from links.make.new_link import PENDING_LIFETIME, SLUG_LENGTH, SLUG_LENGTH_IN_MESSAGES, NewLink
from links.manage.changes import NO_EXPIRED_URL_YET, Change

NO_ALIAS_YET = _("Aliases work once the company is approved")
NOT_BOTH = _("Specify either expires_in or never_expires")


NOT_OWN_HOST = _("The company has no such host of short links")
NO_REUSE_OF_ALIAS = _("A link with an alias is always a new one: leave out reuse or alias")
NO_REUSE_OF_ONCE = _("A link that opens once is always a new one: leave out reuse or once")


def link_for_code(fields: RequestFields, principal: Principal) -> NewLink | None:
    """The link of a code's send; None without `link`, whose two options are still validated."""
    rules = principal.link_rules
    url = fields.text(link_fields.LINK_FOR_CODE) or None
    lifetime = fields.integer(lifetime_fields.LINK_FOR_CODE_LIFETIME)
    until = fields.text(lifetime_fields.LINK_UNTIL)
    if url is None or fields.errors:
        return None
    return NewLink(
        url=target_urls.check_target(
            url, field=link_fields.LINK_FOR_CODE.name, allowed=rules.targets
        ),
        lifetime=_lifetime(lifetime, principal),
        length=SLUG_LENGTH_IN_MESSAGES,
        host=_own_host(rules.host, principal),
        utm=rules.utm,
        expired_url=_expired_url(None, principal),
        dies_with_code=until == "code",
    )


def new_link(
    fields: RequestFields, principal: Principal, *, length: int = SLUG_LENGTH
) -> NewLink | None:
    """The requested link; None if a field is invalid, whose error is in `fields` then."""
    url = fields.text(link_fields.URL)
    alias = fields.text(link_fields.ALIAS) or None
    lifetime = fields.integer(lifetime_fields.LINK_LIFETIME)
    host = _host(fields, principal)
    has_tags = fields.boolean(link_fields.TAGS)
    expired_url = fields.text(link_fields.EXPIRED_URL)
    is_once = fields.boolean(link_fields.ONCE)
    if url is None or fields.errors:
        return None
    if alias is not None and _is_pending(principal):
        raise DomainError(Error.FORBIDDEN, message=NO_ALIAS_YET)
    rules = principal.link_rules
    target = target_urls.check_target(url, allowed=rules.targets)
    if alias is not None:
        aliases.check(alias)
    return NewLink(
        url=target,
        alias=alias,
        lifetime=_lifetime(lifetime, principal),
        length=length,
        host=host,
        is_host_requested=bool(host and fields.payload.get(link_fields.HOST.name)),
        utm="" if has_tags is False else rules.utm,
        expired_url=_expired_url(expired_url, principal),
        is_once=bool(is_once),
    )


def reusable_link(fields: RequestFields, principal: Principal) -> NewLink | None:
    is_reused = fields.boolean(link_fields.REUSE)
    if is_reused and fields.payload.get(link_fields.ALIAS.name):
        fields.add_error(link_fields.REUSE, NO_REUSE_OF_ALIAS)
    if is_reused and fields.payload.get(link_fields.ONCE.name):
        fields.add_error(link_fields.REUSE, NO_REUSE_OF_ONCE)
    link = new_link(fields, principal)
    return replace(link, is_reused=True) if link and is_reused else link


def link_change(fields: RequestFields, principal: Principal) -> Change:
    """The requested changes; an omitted field stays unchanged."""
    rules = principal.link_rules
    url = fields.text(link_fields.NEW_URL)
    lifetime = fields.integer(lifetime_fields.NEW_LIFETIME)
    is_endless = fields.boolean(lifetime_fields.NEVER_EXPIRES)
    is_enabled = fields.boolean(link_fields.ENABLED)
    expired_url = fields.text(link_fields.NEW_EXPIRED_URL)
    has_tags = fields.boolean(link_fields.NEW_TAGS)
    if is_endless and lifetime is not None:
        fields.add_error(lifetime_fields.NEVER_EXPIRES, NOT_BOTH)
    fields.check()
    return Change(
        url=None if url is None else target_urls.check_target(url, allowed=rules.targets),
        lifetime=lifetime,
        is_endless=bool(is_endless),
        is_enabled=is_enabled,
        expired_url=None if expired_url is None else _expired_url(expired_url, principal),
        utm=None if has_tags is None else rules.utm if has_tags else "",
    )


def _host(fields: RequestFields, principal: Principal) -> Host | None:
    """The requested host, or the company's default; None for the service's own host."""
    text = fields.text(link_fields.HOST)
    if not text:
        return _own_host(principal.link_rules.host, principal)
    name = text.lower().rstrip(".")
    host = _own_host(name, principal)
    if host is None and not short_hosts.is_service_host(name):
        fields.add_error(link_fields.HOST, NOT_OWN_HOST)
    return host


def _own_host(name: str, principal: Principal) -> Host | None:
    host = short_hosts.find(name) if name else None
    return host if host and host.company_id == principal.company_id else None


def _expired_url(url: str | None, principal: Principal) -> str:
    """The URL for an expired link; empty for none, even if the company has a default.

    The default is left out while its site is blocked; otherwise every request would be refused for
    a URL that it did not ask for.
    """
    rules = principal.link_rules
    if _is_pending(principal):  # otherwise its links would outlive their hour
        if url:
            raise DomainError(Error.FORBIDDEN, message=NO_EXPIRED_URL_YET)
        return ""
    if url is None:
        return "" if target_urls.is_blocked(rules.expired_url) else rules.expired_url
    if not url:
        return ""
    return target_urls.check_target(url, field="expired_url", allowed=rules.targets)


def _is_pending(principal: Principal) -> bool:
    return principal.company_status == Company.Status.PENDING


def _lifetime(seconds: int | None, principal: Principal) -> int | None:
    lifetime = seconds or principal.default_link_lifetime
    if _is_pending(principal):
        return min(lifetime or PENDING_LIFETIME, PENDING_LIFETIME)
    return lifetime
