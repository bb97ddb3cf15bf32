"""Query parameters shared by the API's lists."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime
from difflib import get_close_matches

from django.utils.dateparse import parse_date, parse_datetime
from django.utils.text import format_lazy
from django.utils.translation import gettext_lazy as _

from config.errors import DomainError, Error, invalid_input
from config.texts import StrOrPromise

PAGING = ("limit", "cursor")
PERIOD = ("from", "to")


def check_names(query: Mapping[str, str], known: Collection[str]) -> None:
    """Raise `invalid_input` for each unknown parameter.

    A misspelled `?staus=failed` would otherwise return the unfiltered list.
    """
    unknown = sorted(query.keys() - set(known))
    if unknown:
        errors = {name: [_unknown_parameter(name, known)] for name in unknown}
        raise DomainError(Error.INVALID_INPUT, errors=errors)


def _unknown_parameter(name: str, known: Collection[str]) -> StrOrPromise:
    if not known:
        return _("This list has no parameters")
    near = get_close_matches(name, known, n=1)
    if near:
        return format_lazy(_("Unknown; did you mean {name}?"), name=near[0])
    names = ", ".join(known)
    return format_lazy(_("Unknown; there are: {names}"), names=names)


def time_of(name: str, text: str) -> datetime:
    """Parse an ISO 8601 time, or a date as its start in UTC; raises `invalid_input` on `name`."""
    try:
        moment = parse_datetime(text.replace(" ", "+"))
        day = None if moment else parse_date(text)
    except ValueError:
        moment = day = None
    if moment is None and day is not None:
        moment = datetime(day.year, day.month, day.day, tzinfo=UTC)
    if moment is None:
        raise invalid_input(**{name: _("A time in ISO 8601, 2026-01-31T10:00:00Z for example")})
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
