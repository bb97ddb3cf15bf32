"""The operator's notices at the top of every page of the cabinet."""

from typing import Any

from django import template
from django.template.context import RequestContext
from django.utils.translation import get_language

from operator_admin.incidents import notices

register = template.Library()


@register.inclusion_tag("components/operator_notices.html", takes_context=True)
def operator_notices(context: RequestContext) -> dict[str, Any]:
    member, request = context.get("member"), context.get("request")
    found = notices.for_company(member.company, request.session) if member and request else []
    return {
        "notices": found,
        "language": get_language(),
        "next": request.get_full_path() if found and request else "",
        "csrf_token": context.get("csrf_token"),
    }
