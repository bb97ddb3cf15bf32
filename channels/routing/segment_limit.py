"""Drops SMS from a plan, or refuses the send, if the text needs more than `MAX_SMS_SEGMENTS`."""

from dataclasses import replace

from django.conf import settings

from catalogue.channels import BY_NAME
from catalogue.errors import DomainError
from channels.routing.channel_plan import ChannelPlan


def within_limit(plan: ChannelPlan, segments: int, *, too_long: DomainError) -> ChannelPlan:
    """Drops the SMS step if the text is too long for it; raises if SMS is the first channel."""
    if segments <= settings.MAX_SMS_SEGMENTS:
        return replace(plan, segments=segments)
    if plan.channel.has_segments:
        raise too_long
    steps = [step for step in plan.chain if not BY_NAME[step.channel].has_segments]
    return replace(plan, chain=tuple(steps))
