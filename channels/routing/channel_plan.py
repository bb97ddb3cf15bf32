"""The channels of a message, the first and its fallbacks, at today's prices."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.principal import Principal
from billing import message_prices
from catalogue.channels import BY_NAME, Channel
from catalogue.errors import DomainError, Error
from channels.lifecycle.snapshots import FallbackStep
from channels.phone_numbers import country_of, is_landline
from channels.providers.base import Content
from channels.routing import company_policy, scripted_numbers
from channels.routing.company_policy import SendPolicy, policy_for
from channels.routing.landlines import policy_for_landline
from channels.routing.learned import smart_plan
from channels.routing.smart.plans import Plan
from channels.vendor_accounts import availability, registry

CUSTOM_CODE_NOT_CARRIED = _(
    "No channel that this send may use carries this code now: Telegram takes 4 to 8 digits"
)
OWN_TEXT_NOT_CARRIED = _(
    "No channel that this send may use shows a text of your own now: WhatsApp and Telegram's own "
    "codes have fixed texts"
)
NOTHING_ALLOWED = _(
    "The company's policy leaves no channel for this number: change it in the cabinet, "
    "Settings → Policy"
)


class SendRequest(Protocol):
    """A validated request to send."""

    @property
    def phone(self) -> str: ...
    @property
    def locale(self) -> str: ...
    @property
    def channel(self) -> str | None:
        """The channel in the request, if any."""

    @property
    def content(self) -> Content: ...
    @property
    def purpose(self) -> str:
        """The purpose of a code; empty for a link."""


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """The channel of a message, and the channels to fall back to at today's prices."""

    channel: Channel
    price: int
    chain: tuple[FallbackStep, ...]
    own_patience: float  # seconds the first channel has to prove delivery, if others follow
    segments: int = 1  # segments of an SMS
    route: Mapping[str, Any] | None = None  # decision and reason of smart routing
    is_without_sms: bool = False  # smart routing left SMS out on request

    @property
    def route_of_its_channels(self) -> dict[str, Any]:
        """The route without channels that were removed from the plan since."""
        route = dict(self.route or {})
        if "plan" in route:
            route["plan"] = [step for step in route["plan"] if step[0] in self.channel_names]
        return route

    @property
    def channel_names(self) -> set[str]:
        return {self.channel.name, *(step.channel for step in self.chain)}

    @property
    def patience(self) -> float | None:
        return self.own_patience if self.chain else None

    @property
    def has_segments(self) -> bool:
        return any(BY_NAME[name].has_segments for name in self.channel_names)

    @property
    def chain_without_sms(self) -> tuple[FallbackStep, ...]:
        return tuple(step for step in self.chain if not BY_NAME[step.channel].has_segments)

    def within_segment_limit(self, segments: int, *, too_long: DomainError) -> "ChannelPlan":
        """Drops SMS if the text needs more than `MAX_SMS_SEGMENTS`; raises if it is the first."""
        if segments <= settings.MAX_SMS_SEGMENTS:
            return replace(self, segments=segments)
        if self.channel.has_segments:
            raise too_long
        return replace(self, chain=self.chain_without_sms)


def plan_channels(
    principal: Principal,
    request: SendRequest,
    *,
    kind: str,
    order: company_policy.RequestedOrder = company_policy.NO_ORDER,
    is_without_sms: bool = False,
    is_preview: bool = False,
) -> ChannelPlan:
    """Plans the channels; raises every refusal that needs no counter.

    `order` comes from the request. `is_without_sms`: smart routing leaves SMS out if anything else
    is left. A preview is neither held out nor explores.
    """
    scripted_numbers.refuse_scripted(principal, request.phone, kind)
    company_policy.check_country(principal, request.phone)
    policy = policy_for(principal, request.phone, request.purpose)
    policy = company_policy.with_requested_order(policy, order)
    if order.channels and not policy.order:
        raise _barred_error(BY_NAME[order.channels[0]], request)
    if is_landline(request.phone):
        policy = policy_for_landline(
            principal.mode, policy, channel=request.channel, content=request.content
        )
    country = country_of(request.phone)
    affordable = [
        channel
        for channel in policy.order
        if company_policy.costs_at_most(channel, policy.max_cost, country)
    ]
    channel = _first_channel(principal, request, policy, affordable)
    plan = ChannelPlan(
        channel=channel,
        price=price(channel, principal.mode, country),
        chain=_fallback_steps(principal, request, policy, channel, kind),
        own_patience=company_policy.patience(policy.fallback, channel, kind),
    )
    if not _is_smart(principal, request, policy, kind):
        return plan
    return _with_smart_routing(
        plan, principal, request, affordable, is_without_sms=is_without_sms, is_preview=is_preview
    )


def _is_smart(principal: Principal, request: SendRequest, policy: SendPolicy, kind: str) -> bool:
    """Whether smart routing applies. It learns from entered codes, so it plans codes only."""
    is_code = kind == "code" and request.content is Content.CODE
    return policy.is_smart and is_code and request.channel is None and not principal.is_test


def _with_smart_routing(
    plan: ChannelPlan,
    principal: Principal,
    request: SendRequest,
    affordable: Sequence[Channel],
    *,
    is_without_sms: bool,
    is_preview: bool,
) -> ChannelPlan:
    """The plan of smart routing among these channels; `plan` if it has none or is held out."""
    if not is_preview and smart_plan.is_held_out():
        return replace(plan, route=smart_plan.held_out_route())
    prices = {
        channel.name: price(channel, principal.mode, country_of(request.phone))
        for channel in affordable
        if registry.carries(channel, request.content, principal.mode)
    }
    cheap = {name: price for name, price in prices.items() if not BY_NAME[name].has_segments}
    is_without_sms = is_without_sms and 0 < len(cheap) < len(prices)
    prices = cheap if is_without_sms else prices
    smart = smart_plan.plan(principal.company_id, request.phone, prices, is_preview=is_preview)
    steps = _from_first_available(smart.steps, principal, request) if smart else ()
    if smart is None or not steps:
        return plan
    first, *rest = (
        FallbackStep(
            step.channel, prices[step.channel], float(step.patience or company_policy.NO_PATIENCE)
        )
        for step in steps
    )
    return ChannelPlan(
        channel=BY_NAME[first.channel],
        price=first.price,
        own_patience=first.patience,
        chain=tuple(rest),
        route=smart.route,
        is_without_sms=is_without_sms,
    )


def _from_first_available(steps: Plan, principal: Principal, request: SendRequest) -> Plan:
    """The steps from the first channel with an available account on; empty if there is none.

    Later channels need no available account yet, as in the policy's order.
    """
    for position, step in enumerate(steps):
        channel = BY_NAME[step.channel]
        if availability.has_account(channel, request.content, principal.mode, request.phone):
            return steps[position:]
    return ()


def _first_channel(
    principal: Principal, request: SendRequest, policy: SendPolicy, affordable: Sequence[Channel]
) -> Channel:
    if request.channel in policy.barred:
        raise _barred_error(BY_NAME[str(request.channel)], request)
    if policy.has_matching_rule and not affordable and request.channel is None:
        raise DomainError(Error.CHANNEL_UNAVAILABLE, message=NOTHING_ALLOWED)
    return choose_channel(
        channel_name=request.channel,
        order=affordable,
        content=request.content,
        mode=principal.mode,
        phone=request.phone,
    )


def choose_channel(
    *,
    channel_name: str | None,
    order: Sequence[Channel],
    content: Content,
    mode: str,
    phone: str = "",
) -> Channel:
    """The requested channel, or the first of `order` that can carry this content now.

    Raises a DomainError if there is none, before anything is spent.
    """
    if channel_name is not None:
        return _require_account(BY_NAME[channel_name], content, mode, phone)
    for channel in order:
        if availability.has_account(channel, content, mode, phone):
            return channel
    raise _unavailable(content)


def _unavailable(content: Content) -> DomainError:
    if content.is_custom_code:
        return DomainError(Error.CHANNEL_UNAVAILABLE, message=CUSTOM_CODE_NOT_CARRIED)
    if content is Content.CODE_WITH_TEXT:
        return DomainError(Error.CHANNEL_UNAVAILABLE, message=OWN_TEXT_NOT_CARRIED)
    return DomainError(Error.CHANNEL_UNAVAILABLE)


def _require_account(channel: Channel, content: Content, mode: str, phone: str) -> Channel:
    if availability.has_account(channel, content, mode, phone):
        return channel
    if content.is_custom_code or content is Content.CODE_WITH_TEXT:
        raise _unavailable(content)
    if not registry.carries(channel, content, mode) and registry.carries(
        channel, Content.CODE, mode
    ):
        raise DomainError(Error.LINK_NOT_SUPPORTED)
    raise DomainError(Error.CHANNEL_UNAVAILABLE)


def _barred_error(channel: Channel, request: SendRequest) -> DomainError:
    message = format_lazy(
        _(
            "The company's policy bars {channel} for this number ({country}): name another "
            "channel, or change the policy in the cabinet, Settings → Policy"
        ),
        channel=channel.title,
        country=country_of(request.phone) or request.phone[:4],
    )
    return DomainError(Error.CHANNEL_UNAVAILABLE, message=message)


def _fallback_steps(
    principal: Principal, request: SendRequest, policy: SendPolicy, first: Channel, kind: str
) -> tuple[FallbackStep, ...]:
    chain = policy.fallback if request.channel is None else None
    fallback = scripted_numbers.fallback(
        principal, request.phone, chain=chain, channel=first, order=policy.order
    )
    if fallback is None:
        return ()
    country = country_of(request.phone)
    channels = company_policy.fallback_channels(
        first, fallback, request.content, principal.mode, country
    )
    return tuple(
        FallbackStep(
            channel.name,
            price(channel, principal.mode, country),
            company_policy.patience(fallback, channel, kind),
        )
        for channel in channels
    )


def price(channel: Channel, mode: str, country: str = "") -> int:
    """Tokens for a delivered message to a country."""
    return 0 if mode == "test" else message_prices.price_of(channel.name, country)
