"""Words for the restrictions of the guard."""

from django import template

from accounts.models import Member
from accounts.people.phone_masking import beginning_for
from otp.models import GuardRestriction
from otp.protection import scope_names

register = template.Library()


@register.filter
def scope_name(restriction: GuardRestriction) -> str:
    return scope_names.scope_name(restriction.kind, restriction.value)


@register.filter
def scope_for(restriction: GuardRestriction, member: Member) -> str:
    """No more of the numbers than the member sees of each."""
    return scope_names.scope_name(restriction.kind, beginning_for(restriction.value, member))
