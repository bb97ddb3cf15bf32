"""Words for the restrictions of the guard."""

from django import template

from otp.models import GuardRestriction
from otp.protection import scope_names

register = template.Library()


@register.filter
def scope_name(restriction: GuardRestriction) -> str:
    return scope_names.scope_name(restriction.kind, restriction.value)
