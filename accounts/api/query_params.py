"""Query parameters shared by the API's lists."""

from collections.abc import Collection, Mapping
from datetime import datetime

from django.http import QueryDict
from django.utils.translation import gettext_lazy as _

from accounts.api.fields import Field
from accounts.api.request_fields import RequestFields
from accounts.api.unknown_fields import MAX_WARNINGS, meant, refusal_text
from config.errors import DomainError, Error
from config.input.days import parse_moment
from config.texts import StrOrPromise

TWICE = _("Specify this parameter once")
NOT_A_TIME = _("A time in ISO 8601, for example 2026-01-31T10:00:00Z")


class QueryFields(RequestFields):
    """Reads declared query parameters. An empty one is as good as none."""

    def __init__(self, query: Mapping[str, str]) -> None:
        super().__init__({name: text for name, text in query.items() if text})

    def time(self, field: Field) -> datetime | None:
        """An ISO 8601 time, or a date as its start in UTC."""
        text = self.payload.get(field.name)
        moment = parse_moment(text) if text else None
        if text and moment is None:
            self.add_error(field, NOT_A_TIME)
        return moment


def check_names(query: QueryDict, known: Collection[str]) -> None:
    """Raise `invalid_input` for each parameter that is unknown or given twice.

    A misspelled `?staus=failed` would otherwise return the unfiltered list, and
    `?status=failed&status=expired` half of what was asked for.
    """
    unknown = sorted(query.keys() - set(known))[:MAX_WARNINGS]
    errors: dict[str, list[StrOrPromise]] = {
        name: [refusal_text(meant(name, known), known)] for name in unknown
    }
    errors |= {name: [TWICE] for name in known if len(query.getlist(name)) > 1}
    if errors:
        raise DomainError(Error.INVALID_INPUT, errors=errors)
