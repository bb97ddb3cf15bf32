"""The next channel of a code that is to be sent once more, by another one."""

from collections.abc import Set

from django.utils.translation import gettext_lazy as _

from accounts.keys.api_keys import Principal
from catalogue.channels import Channel
from catalogue.errors import DomainError, Error
from channels.phone_numbers import country_of, is_landline
from channels.routing import company_policy
from channels.routing.channel_plan import SendRequest, for_landline
from channels.routing.company_policy import AskedOrder
from channels.vendor_accounts import availability

NONE_LEFT = _(
    "No other channel is left: the code was sent by every one that your policy and this number "
    "allow"
)


def next_channel(
    principal: Principal, request: SendRequest, tried: Set[str], order: AskedOrder
) -> Channel:
    """The first channel that is not among those tried: of the order that was asked for, else of the
    company's.
    """
    policy = company_policy.policy_for(principal, request.phone, request.purpose)
    policy = company_policy.in_order(policy, order)
    if is_landline(request.phone):
        policy = for_landline(principal, request, policy)
    country = country_of(request.phone)
    for channel in policy.order:
        if (
            channel.name not in tried
            and company_policy.costs_at_most(channel, policy.max_cost, country)
            and availability.has_account(channel, request.content, principal.mode, request.phone)
        ):
            return channel
    raise DomainError(Error.CHANNEL_UNAVAILABLE, message=NONE_LEFT)
