"""The facts about a phone before anything is sent to it; no vendor is asked.

The sources are the number's range, the company's rules, the existing accounts, and the people who
let our bots write to them or asked us to stop. Nothing here comes from other companies' messages.
"""

import time
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum

from accounts.keys.principal import Principal
from catalogue.channels import CHANNELS, Channel
from catalogue.errors import DomainError, Error
from channels.models import BlockedPhone, Contact
from channels.phone_numbers import LineType, country_of, is_landline, line_type, spellings
from channels.providers.base import Content
from channels.routing import company_policy, scripted_numbers
from channels.routing.company_policy import SendPolicy
from channels.vendor_accounts import availability, registry
from storage import atomic_limits as counters
from storage.postgres_limits import count_in_postgres

LIMIT = (3000, 3600)  # lookups per company and mode: (count, seconds)


class Reach(StrEnum):
    YES = "yes"
    NO = "no"
    UNKNOWN = "unknown"  # unknown until a message was sent


class Reason(StrEnum):
    """The reason why a channel is known to reach a phone, or not to."""

    CONTACT = "contact"  # the person let our bot write to them
    NO_CONTACT = "no_contact"
    BLOCKED = "blocked"  # replied STOP, or the operator blocked the phone
    LANDLINE = "landline"
    COUNTRY = "country"  # not on the company's list
    POLICY = "policy"  # the company's rules exclude the channel
    UNAVAILABLE = "unavailable"  # no account carries codes to this number now


@dataclass(frozen=True, slots=True)
class ChannelReach:
    channel: Channel
    reach: Reach
    reason: Reason | None = None


@dataclass(frozen=True, slots=True)
class PhoneFacts:
    phone: str  # E.164
    country: str  # ISO 3166; empty if the calling code belongs to no country
    type: LineType
    channels: tuple[ChannelReach, ...]

    @property
    def is_blocked(self) -> bool:
        return any(reach.reason is Reason.BLOCKED for reach in self.channels)


def look_up(principal: Principal, phone: str, purpose: str) -> PhoneFacts:
    """The facts about a phone in E.164; counts the lookup and raises `rate_limited` beyond LIMIT.

    Otherwise somebody could collect the bots' contacts by trying numbers.
    """
    scripted_numbers.refuse_scripted_number(principal, phone)
    if wait := _seconds_over(f"lookup:{principal.company_id}:{principal.mode}"):
        raise DomainError(Error.RATE_LIMITED, retry_after=wait)
    return facts_of(principal, phone, purpose)


def _seconds_over(key: str) -> int:
    """Counts a lookup; returns 0, or the seconds to wait if it is one too many.

    Without Redis, lookups are counted in PostgreSQL by whole hours.
    """
    limit, seconds = LIMIT
    try:
        result = counters.acquire([counters.Window(key, limit, seconds)])
    except counters.LimiterDownError:
        now = int(time.time())
        end = now - now % seconds + seconds
        until = datetime.fromtimestamp(end, UTC)
        return 0 if count_in_postgres(f"{key}:{end}", limit=limit, end=until) else end - now
    return 0 if result.outcome == counters.GRANTED else result.wait


def facts_of(principal: Principal, phone: str, purpose: str) -> PhoneFacts:
    policy = company_policy.policy_for(principal, phone, purpose)
    for_all = _reason_for_all(principal, phone)
    contacts = {} if principal.is_test else _contacts(phone)
    channels = tuple(
        ChannelReach(channel, Reach.NO, for_all)
        if for_all
        else _reach(principal, phone, channel, policy, contacts)
        for channel in CHANNELS
    )
    return PhoneFacts(phone, country_of(phone), line_type(phone), channels)


def _reason_for_all(principal: Principal, phone: str) -> Reason | None:
    if BlockedPhone.objects.filter(phone__in=spellings(phone)).exists():
        return Reason.BLOCKED
    try:
        company_policy.check_country(principal, phone)
    except DomainError:
        return Reason.COUNTRY
    return None


def _contacts(phone: str) -> dict[str, bool]:
    """The accounts that the person shared the phone with, and whether each may write now."""
    shared = Contact.objects.filter(phone__in=spellings(phone))
    return {contact.provider: contact.blocked_at is None for contact in shared}


def _reach(
    principal: Principal,
    phone: str,
    channel: Channel,
    policy: SendPolicy,
    contacts: dict[str, bool],
) -> ChannelReach:
    country = country_of(phone)
    is_allowed = company_policy.costs_at_most(channel, policy.max_cost, country)
    if channel not in policy.order or not is_allowed:
        return ChannelReach(channel, Reach.NO, Reason.POLICY)
    if not availability.has_account(channel, Content.CODE, principal.mode, phone):
        return ChannelReach(channel, Reach.NO, Reason.UNAVAILABLE)
    routes = registry.routes_by_key().get((principal.mode, channel.name, Content.CODE.value), [])
    if any(contacts.get(route.provider) for route in routes if route.needs_contact):
        return ChannelReach(channel, Reach.YES, Reason.CONTACT)
    if all(route.needs_contact for route in routes):
        return ChannelReach(channel, Reach.NO, Reason.NO_CONTACT)
    if channel.needs_mobile and is_landline(phone):
        return ChannelReach(channel, Reach.NO, Reason.LANDLINE)
    return ChannelReach(channel, Reach.UNKNOWN)
