"""Form fields that use the parsers of this folder, and the rendering of widgets."""

from datetime import date, datetime
from pathlib import Path
from typing import Any

from django import forms
from django.conf import settings
from django.contrib.postgres.forms import SimpleArrayField
from django.core.exceptions import ValidationError
from django.core.validators import MaxLengthValidator
from django.forms.renderers import DjangoTemplates
from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates as Templates
from django.utils.functional import cached_property
from django.utils.translation import gettext_lazy as _

from parsing import characters, integers
from parsing.days import FIRST_DAY, LAST_DAY, as_bound


def validate_line(text: str) -> None:
    if not characters.is_line(text):
        raise ValidationError(_("Printable characters only, no line breaks"), code="characters")


def validate_text(text: str) -> None:
    if not characters.is_text(text):
        raise ValidationError(_("No control characters"), code="characters")


def validate_day(value: Any) -> None:
    day = value.date() if isinstance(value, datetime) else value
    if not FIRST_DAY <= day <= LAST_DAY:
        raise ValidationError(
            _("A day from %(first)s to %(last)s."),
            params={"first": FIRST_DAY.year, "last": LAST_DAY.year},
            code="day",
        )


class BoundedField(forms.CharField):
    """A text whose length is checked first.

    A form would run every validator on a text of any length, and NFKC of 4 MB of combining marks
    takes hours.
    """

    def run_validators(self, value: str) -> None:
        if self.max_length is not None:
            MaxLengthValidator(self.max_length)(value)
        super().run_validators(value)


class SplitField(forms.CharField):
    """Words separated by spaces, commas or line breaks.

    `max_length` bounds the text; Django would apply it to the list of words.
    """

    def split(self, text: str) -> list[str]:
        return list(dict.fromkeys(text.replace(",", " ").split()))

    def to_python(self, value: Any) -> list[str]:  # type: ignore[override]
        text = super().to_python(value) or ""
        if self.max_length is not None:
            MaxLengthValidator(self.max_length)(text)
        return self.split(text)


class LineField(BoundedField):
    default_validators = [validate_line]


class TextField(BoundedField):
    """A text of several lines. Line ends count as one character: browsers count one, send two."""

    widget = forms.Textarea
    default_validators = [validate_text]

    def to_python(self, value: Any) -> str:
        return str(super().to_python(value)).replace("\r\n", "\n")


class DayField(forms.DateField):
    default_validators = [validate_day]

    def __init__(self, **kwargs: Any) -> None:
        kwargs.setdefault("widget", forms.DateInput(attrs={"type": "date"}, format="%Y-%m-%d"))
        super().__init__(**kwargs)


class DayBoundField(DayField):
    """A filter's day, clamped: beyond the bounds it selects the same rows as the nearest bound."""

    def to_python(self, value: Any) -> date | None:
        day: date | None = super().to_python(value)
        return day and as_bound(day)


class MomentField(forms.DateTimeField):
    default_validators = [validate_day]


class SplitMomentField(forms.SplitDateTimeField):
    """A day and a time in two inputs, as in the admin."""

    default_validators = [validate_day]


class IntegerField(forms.IntegerField):
    """A number; refuses `1_000` and numbers too large for a column, which Django's accepts."""

    def to_python(self, value: Any) -> int | None:
        number: int | None = super().to_python(value)
        if number is not None and ("_" in str(value) or abs(number) > integers.MAX):
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        return number


class LinesField(SimpleArrayField):
    def run_validators(self, value: Any) -> None:
        super().run_validators(value)
        validate_line("".join(value))


class JsonField(forms.JSONField):
    """JSON; refuses numbers of 5,000 digits and deep nesting, for which Django's field crashes.

    `max_text` bounds its characters; `max_length` would bound the parsed value.
    """

    def __init__(self, *, max_text: int, **options: Any) -> None:
        super().__init__(**options)
        self.max_text = max_text

    def to_python(self, value: Any) -> Any:
        if isinstance(value, str) and len(value) > self.max_text:
            raise ValidationError(self.error_messages["invalid"], code="invalid")
        try:
            return super().to_python(value)
        except (ValueError, RecursionError):
            raise ValidationError(self.error_messages["invalid"], code="invalid") from None

    def bound_data(self, data: Any, initial: Any) -> Any:
        try:
            return super().bound_data(data, initial)
        except (ValueError, RecursionError):
            return ""


class FormRenderer(DjangoTemplates):
    """Renders `{{ form }}` and `field.as_field_group` with the pages' components."""

    form_template_name = "components/form.html"
    field_template_name = "components/field.html"

    @cached_property
    def engine(self) -> Templates:
        folders = [Path(forms.__file__).parent / "templates", *settings.TEMPLATES[0]["DIRS"]]
        options = {"builtins": settings.TEMPLATES[0]["OPTIONS"]["builtins"]}
        return Templates({"NAME": "forms", "APP_DIRS": True, "DIRS": folders, "OPTIONS": options})

    def render(
        self, template_name: str, context: dict[str, Any], request: HttpRequest | None = None
    ) -> str:
        if "widget" in context:
            context["widget"]["attrs"].pop("maxlength", None)
        return super().render(template_name, context, request)
