"""Landlines: sent to by channels that reach them, refused without such a channel."""

from dataclasses import replace

from django.utils.translation import gettext_lazy as _

from catalogue.channels import BY_NAME
from catalogue.errors import DomainError, Error
from channels.providers.base import Content
from channels.routing.company_policy import SendPolicy
from channels.vendor_accounts import registry

LANDLINE = _("This is a landline, which gets neither SMS nor Telegram codes: use a mobile number")


def policy_for_landline(
    mode: str, policy: SendPolicy, *, channel: str | None, content: Content
) -> SendPolicy:
    """Removes the channels that reach only mobiles; refuses if no other carries the content."""
    reached = {name for name in BY_NAME if _reaches_landlines(name, mode, content)}
    order = [each for each in policy.order if each.name in reached]
    carried = any(registry.carries(each, content, mode) for each in order)
    if not (channel in reached if channel else carried):
        raise DomainError(Error.RECIPIENT_UNREACHABLE, message=LANDLINE)
    fallback = policy.fallback and policy.fallback._replace(
        chain=tuple(name for name in policy.fallback.chain if name in reached)
    )
    return replace(policy, order=order, fallback=fallback)


def _reaches_landlines(name: str, mode: str, content: Content) -> bool:
    """Whether an account of the channel reaches landlines with this content.

    Our bot writes to any shared number, Telegram Gateway only to mobiles.
    """
    if not BY_NAME[name].needs_mobile:
        return True
    routes = registry.routes_by_key().get((mode, name, content.value), [])
    return bool(routes) and all(route.needs_contact for route in routes)
