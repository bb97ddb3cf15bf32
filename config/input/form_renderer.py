"""How widgets are rendered: without `maxlength`, by which browsers cut what is pasted, in silence.

An address or a text that is too long would be taken as another one. Fields refuse it with words.
"""

from typing import Any

from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest


class FormRenderer(DjangoTemplates):
    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> str:
        if "widget" in context:
            context["widget"]["attrs"].pop("maxlength", None)
        return super().render(template_name, context, request)
