"""The number of things that wait for the operator, in the admin's header."""

from django import template
from django.http import HttpRequest
from django.template.context import RequestContext

from operator_admin.attention import items

register = template.Library()


@register.inclusion_tag("operator_admin/attention_link.html", takes_context=True)
def attention_link(context: RequestContext) -> dict[str, object]:
    request: HttpRequest = context["request"]
    return {
        "request": request,
        "total": sum(one.number for one in items.counts(items.kinds_for(request))),
    }
