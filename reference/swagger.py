"""The page that tries the API: Swagger UI from our own files, without inline code."""

from collections.abc import Callable
from typing import Any

from csp.decorators import csp_update
from django.utils.decorators import method_decorator
from drf_spectacular.views import SpectacularSwaggerSplitView
from rest_framework.views import exception_handler


@method_decorator(csp_update({"style-src-attr": ["'unsafe-inline'"]}), name="dispatch")
class TryIt(SpectacularSwaggerSplitView):
    """Swagger UI sets `style` attributes from its script; no other page may."""

    template_name = "docs/try.html"
    url_name = "openapi"
    schema = None

    def get_exception_handler(self) -> Callable[..., Any]:
        return exception_handler
