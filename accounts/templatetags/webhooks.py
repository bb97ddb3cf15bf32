"""Words for what a receiver answered."""

from django import template

from accounts.models import DeliveryAttempt

register = template.Library()


@register.filter
def failure(code: str) -> str:
    """Why there was no answer."""
    return str(DeliveryAttempt.Failure(code).label) if code else ""
