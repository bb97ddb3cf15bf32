"""The time zones a person may choose, and templates that show times in the chosen one.

Days are those of the service's zone (`TIME_ZONE`) in counts, budgets, statements and the filters
for their rows, so that sums agree for all readers. Times of day are in the reader's zone.
"""

from collections import defaultdict
from collections.abc import Mapping
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from babel.core import Locale, get_global
from django.conf import settings
from django.http import HttpRequest
from django.template.backends.django import DjangoTemplates, Template
from django.utils import timezone

from accounts.models import User
from accounts.people import countries

UTC = "Etc/UTC"


class ReaderTemplate(Template):
    def render(self, context: Any = None, request: HttpRequest | None = None) -> str:
        # Only while a page is rendered: code computes in the service's zone.
        with timezone.override(chosen_by(request)):
            return super().render(context, request)


class ReaderTemplates(DjangoTemplates):
    """Django's template engine; shows times in the zone of the signed-in person."""

    def get_template(self, template_name: str) -> ReaderTemplate:
        template: Any = super().get_template(template_name)
        return ReaderTemplate(template.template, self)


def chosen_by(request: HttpRequest | None) -> ZoneInfo | None:
    """The zone that a person chose; None for the service's zone and for visitors. Reads no session
    that the page has not read.

    The admin keeps the service's zone, the only one that the parsing of its forms supports.
    """
    if request is None or not _has_read_session(request) or _is_admin(request):
        return None
    name = request.user.time_zone if isinstance(request.user, User) else ""
    return zone_named(name)


def zone_named(name: str) -> ZoneInfo | None:
    """The zone of this name; None for an empty name, or one that the system's data lacks."""
    try:
        return ZoneInfo(name) if name and name != settings.TIME_ZONE else None
    except (ZoneInfoNotFoundError, ValueError):
        return None


def _has_read_session(request: HttpRequest) -> bool:
    return bool(getattr(getattr(request, "session", None), "accessed", False))


def _is_admin(request: HttpRequest) -> bool:
    match = request.resolver_match
    return match is not None and "admin" in match.app_names


def choices(now: datetime, language: str) -> list[tuple[str, str]]:
    """Zone names with labels such as «Владивосток, Россия (UTC+10:00)», from west to east."""
    zones = sorted((_offset(name, now), place_of(name, language), name) for name in _zone_names())
    return [(name, f"{city} ({offset_text(offset)})") for offset, city, name in zones]


def offset_text(offset: timedelta) -> str:
    minutes = offset // timedelta(minutes=1)
    sign = "−" if minutes < 0 else "+"
    return f"UTC{sign}{abs(minutes) // 60:02}:{abs(minutes) % 60:02}"


def place_of(name: str, language: str) -> str:
    country = _countries().get(name, "") if not name.startswith("Etc/") else ""
    title = countries.titles(language).get(country, "")
    return f"{city_of(name, language)}, {title}" if title else city_of(name, language)


def city_of(name: str, language: str) -> str:
    """The city's name in CLDR, which lists some zones under older names."""
    spellings = [name, *_older_names().get(name, ())]
    zone_names = Locale(language).time_zones
    cities = (zone_names.get(spelling, {}).get("city") for spelling in spellings)
    return next(filter(None, cities), None) or name.rpartition("/")[2].replace("_", " ")


def _offset(name: str, now: datetime) -> timedelta:
    offset = now.astimezone(ZoneInfo(name)).utcoffset()
    assert offset is not None, "ZoneInfo always has one"  # noqa: S101
    return offset


@lru_cache(maxsize=1)
def _zone_names() -> tuple[str, ...]:
    """The zones of places in CLDR, and UTC, without those that the system's data lacks."""
    zones = available_timezones()
    places = (name for name in _countries() if not name.startswith("Etc/"))
    return tuple(name for name in (UTC, *places) if name in zones)


def _countries() -> Mapping[str, str]:
    zones: Mapping[str, str] = get_global("zone_territories")
    return zones


@lru_cache(maxsize=1)
def _older_names() -> Mapping[str, list[str]]:
    older: defaultdict[str, list[str]] = defaultdict(list)
    for old, name in get_global("zone_aliases").items():
        older[name].append(old)
    return older
