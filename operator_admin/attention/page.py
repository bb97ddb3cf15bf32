"""The admin's page of everything that waits for the operator."""

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.template.response import TemplateResponse
from django.utils.translation import gettext_lazy

from config.input.integers import parse_page
from operator_admin.attention import items
from operator_admin.site import page


@page("attention/", "attention")
def attention(request: HttpRequest) -> HttpResponse:
    allowed = items.kinds_for(request)
    asked = request.GET.get("kind", "")
    number = parse_page(request.GET.get("page", ""))
    found = items.page([asked] if asked in allowed else allowed, number)
    counts = items.counts(allowed)
    context = {
        **admin.site.each_context(request),
        "title": gettext_lazy("Needs attention"),
        "items": found[: items.PAGE_SIZE],
        "counts": counts,
        "total": sum(one.number for one in counts),
        "kind": asked if asked in allowed else "",
        "older": number + 1 if len(found) > items.PAGE_SIZE else None,
        "newer": number - 1 if number else None,
    }
    return TemplateResponse(request, "operator_admin/attention.html", context)
