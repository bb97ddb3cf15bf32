"""What would happen to a send now: its channels with their prices, and the rules behind them.

Nothing is sent, counted or charged.
"""

from dataclasses import dataclass

from accounts.keys.api_keys import Principal
from channels.phone_numbers import country_of
from channels.providers.base import Content
from channels.routing import channel_plan, company_policy
from channels.vendor_accounts import availability
from config.channels import BY_NAME, Channel
from config.errors import DomainError


@dataclass(frozen=True, slots=True)
class PreviewRequest:
    """A send that is only imagined."""

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
    rules: list[tuple[str, str]]  # country and purpose of those that matched, the most exact first
    refusal: DomainError | None = None


def preview(principal: Principal, request: PreviewRequest) -> Preview:
    policy = company_policy.policy_for(principal, request.phone, request.purpose)
    country = country_of(request.phone)
    steps: list[PreviewStep] = []
    refusal: DomainError | None = None
    kind = "link" if request.content is Content.LINK else "code"
    try:
        plan = channel_plan.plan_channels(principal, request, kind=kind, is_preview=True)
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


def _steps(
    principal: Principal, request: PreviewRequest, plan: channel_plan.ChannelPlan
) -> list[PreviewStep]:
    chain = [(plan.channel, plan.price, plan.own_patience)]
    chain += [(BY_NAME[step.channel], step.price, step.patience) for step in plan.chain]
    return [
        PreviewStep(
            channel,
            price,
            None if n == len(chain) else patience,
            availability.has_account(channel, request.content, principal.mode, request.phone),
        )
        for n, (channel, price, patience) in enumerate(chain, start=1)
    ]
