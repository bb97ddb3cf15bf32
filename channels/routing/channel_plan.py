"""The channels of a message, the first and its fallback chain, at today's prices."""

from dataclasses import dataclass, replace
from typing import Protocol

from django.conf import settings
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from accounts.keys.api_keys import Principal
from billing import message_prices
from channels.lifecycle.steps import Step
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.routing import channel_choice, test_numbers
from channels.routing.company_policy import SendPolicy, policy_for
from config.channels import BY_NAME, Channel
from config.errors import DomainError, Error


class SendRequest(Protocol):
    """A validated request to send."""

    @property
    def phone(self) -> str: ...
    @property
    def locale(self) -> str: ...
    @property
    def channel(self) -> str | None:
        """The channel that the request names, if any."""

    @property
    def content(self) -> Content: ...
    @property
    def purpose(self) -> str:
        """What a code is for; empty for a link."""


@dataclass(frozen=True, slots=True)
class ChannelPlan:
    """The channel of a message, and the channels to fall back to at today's prices."""

    channel: Channel
    price: int
    chain: tuple[Step, ...]
    own_patience: float  # seconds the first channel has to prove delivery, if others follow
    segments: int = 1  # of an SMS

    @property
    def channel_names(self) -> set[str]:
        return {self.channel.name, *(step.channel for step in self.chain)}

    @property
    def patience(self) -> float | None:
        return self.own_patience if self.chain else None

    @property
    def has_segments(self) -> bool:
        return any(BY_NAME[name].has_segments for name in self.channel_names)

    def with_segments(self, segments: int, *, too_long: DomainError) -> "ChannelPlan":
        """Drops the SMS step if the text is too long for it; raises if SMS is the first channel."""
        if segments <= settings.MAX_SMS_SEGMENTS:
            return replace(self, segments=segments)
        if self.channel.has_segments:
            raise too_long
        steps = [step for step in self.chain if not BY_NAME[step.channel].has_segments]
        return replace(self, chain=tuple(steps))


def plan_channels(principal: Principal, request: SendRequest, *, kind: str) -> ChannelPlan:
    """Raises every refusal that needs no counter."""
    test_numbers.refuse_scripted(principal, request.phone)
    check_country(principal, request.phone)
    policy = policy_for(principal, request.phone, request.purpose)
    channel = _first_channel(principal, request, policy)
    return ChannelPlan(
        channel=channel,
        price=price(channel, principal.mode, country_of(request.phone)),
        chain=_fallback_steps(principal, request, policy, channel, kind),
        own_patience=channel_choice.patience(policy.fallback, channel, kind),
    )


def _first_channel(principal: Principal, request: SendRequest, policy: SendPolicy) -> Channel:
    if request.channel in policy.barred:
        raise _barred(BY_NAME[str(request.channel)], request)
    country = country_of(request.phone)
    affordable = [
        channel
        for channel in policy.order
        if channel_choice.costs_at_most(channel, policy.max_cost, country)
    ]
    if policy.is_own and not affordable and request.channel is None:
        raise DomainError(Error.CHANNEL_UNAVAILABLE, message=NOTHING_ALLOWED)
    return channel_choice.choose_channel(
        named=request.channel,
        order=affordable,
        content=request.content,
        mode=principal.mode,
        phone=request.phone,
    )


NOTHING_ALLOWED = _(
    "The company's policy leaves no channel for this number: change it in the cabinet, "
    "Settings → Policy"
)


def _barred(channel: Channel, request: SendRequest) -> DomainError:
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
) -> tuple[Step, ...]:
    own = policy.fallback if request.channel is None else None
    fallback = test_numbers.fallback(principal, request.phone, own=own, channel=first)
    if fallback is None:
        return ()
    country = country_of(request.phone)
    channels = channel_choice.fallback_channels(
        first, fallback, request.content, principal.mode, country
    )
    return tuple(
        Step(
            channel.name,
            price(channel, principal.mode, country),
            channel_choice.patience(fallback, channel, kind),
        )
        for channel in channels
    )


def price(channel: Channel, mode: str, country: str = "") -> int:
    """Tokens for a delivered message to a country."""
    return 0 if mode == "test" else message_prices.price_of(channel.name, country)


def check_country(principal: Principal, phone: str) -> None:
    """Enforces the company's allowed countries; test keys spend no money, so they are exempt."""
    allowed, country = principal.allowed_countries, country_of(phone)
    if allowed and country not in allowed and not principal.is_test:
        name = country or phone[:4]
        raise DomainError(
            Error.COUNTRY_NOT_ALLOWED,
            message=format_lazy(
                _(
                    "Sending to this country ({name}) is not switched on: add it in the cabinet, "
                    "Settings → Allowed countries"
                ),
                name=name,
            ),
            country=country,
        )
