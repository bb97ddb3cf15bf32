"""The first page: what is sold, for how much, and the first code in every language."""

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from api_docs.pages.limits_shown import numbers
from api_docs.pages.views import remember_language, sample_language
from billing.models import Package


def home(request: HttpRequest) -> HttpResponse:
    context = {
        "n": numbers(),
        "packages": Package.objects.on_sale(),
        "code_minutes": settings.CODE_LIFETIME // 60,
        "phone_days": settings.PHONE_RETENTION,
        "sample_language": sample_language(request),
    }
    return remember_language(request, render(request, "home.html", context))
