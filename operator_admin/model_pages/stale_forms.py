"""The admin's forms refuse to undo what somebody has changed since they were opened: the
fingerprint of `parsing.stale_forms`, of the rows beside the form too, in
`templates/admin/change_form.html`.
"""

from collections.abc import Iterable
from typing import Any

from django.contrib import admin
from django.core.exceptions import ValidationError
from django.forms.models import model_to_dict
from django.http import HttpRequest, HttpResponse

from parsing.stale_forms import OVERTAKEN, VERSION, version_of

_ROWS = "_stored_rows"


def _rows_of(formsets: Iterable[Any]) -> list[Any]:
    return [
        [row.pk, model_to_dict(row, fields=formset.form.base_fields)]
        for formset in formsets
        for row in formset.get_queryset()
    ]


class RefusesStaleForms(admin.ModelAdmin):  # type: ignore[type-arg]
    def _create_formsets(self, request: HttpRequest, obj: Any, *args: Any, **more: Any) -> Any:
        formsets, inlines = super()._create_formsets(request, obj, *args, **more)  # type: ignore[misc]
        # Now: validation writes what was sent into these rows.
        setattr(request, _ROWS, _rows_of(formsets))
        return formsets, inlines

    def get_form(
        self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any
    ) -> Any:
        form: Any = super().get_form(request, obj, change=change, **kwargs)
        sent = request.POST.get(VERSION)
        if not (change and sent):
            return form

        class UnlessOvertaken(form):  # type: ignore[misc]
            def clean(self) -> Any:
                cleaned = super().clean()
                if sent != version_of(self, getattr(request, _ROWS, [])):
                    raise ValidationError(OVERTAKEN, code="overtaken")
                return cleaned

        return UnlessOvertaken

    def render_change_form(
        self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any
    ) -> HttpResponse:
        if kwargs.get("change"):
            form = context["adminform"].form
            stored = version_of(form, getattr(request, _ROWS, []))
            context["version"] = request.POST.get(VERSION) or stored
        return super().render_change_form(request, context, *args, **kwargs)
