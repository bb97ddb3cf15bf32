"""Previews a send without sending it: its channels, prices and matching rules."""

from dataclasses import dataclass

from accounts.keys.principal import Principal
from catalogue.channels import BY_NAME, Channel
from catalogue.errors import DomainError
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.routing import company_policy
from channels.routing.channel_plan import ChannelPlan, plan_channels
from channels.vendor_accounts import availability


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """The fields of a send that determine its channels."""

    phone: str  # E.164
    purpose: str  # empty for a link
    locale: str = ""
    channel: str | None = None
    content: Content = Content.CODE


@dataclass(frozen=True, slots=True)
class PreviewStep:
    channel: Channel
    price: int
    patience: float | None  # seconds until the next step; None for the last one
    is_available: bool


@dataclass(frozen=True, slots=True)
class Preview:
    country: str
    locale: str
    steps: list[PreviewStep]
    barred: list[Channel]
    rules: list[tuple[str, str]]  # country and purpose of the matching rules, most specific first
    refusal: DomainError | None = None


def preview(principal: Principal, phone: str, *, kind: str, purpose: str) -> Preview:
    """Previews a send. `kind`: "code" or "link"; a link has no purpose."""
    content = Content.LINK if kind == "link" else Content.CODE
    request = PreviewRequest(phone, "" if kind == "link" else purpose, content=content)
    policy = company_policy.policy_for(principal, request.phone, request.purpose)
    country = country_of(phone)
    steps: list[PreviewStep] = []
    refusal: DomainError | None = None
    try:
        plan = plan_channels(principal, request, kind=kind, is_preview=True)
    except DomainError as error:
        refusal = error
    else:
        steps = _steps(principal, request, plan)
    return Preview(
        country=country,
        locale=policy.locale or principal.language,
        steps=steps,
        barred=[channel for name, channel in BY_NAME.items() if name in policy.barred],
        rules=company_policy.matching_keys(principal, country, request.purpose),
        refusal=refusal,
    )


def _steps(principal: Principal, request: PreviewRequest, plan: ChannelPlan) -> list[PreviewStep]:
    chain = [(plan.channel, plan.price, plan.own_patience)]
    chain += [(BY_NAME[step.channel], step.price, step.patience) for step in plan.chain]
    return [
        PreviewStep(
            channel,
            price,
            None if position == len(chain) else patience,
            availability.has_account(channel, request.content, principal.mode, request.phone),
        )
        for position, (channel, price, patience) in enumerate(chain, start=1)
    ]
