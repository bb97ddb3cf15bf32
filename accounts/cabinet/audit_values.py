"""Old and new values of the audit log as a person reads them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import pgettext

from accounts.audit import texts
from accounts.audit.texts import FIELD_LABELS
from accounts.cabinet.number_fields import grouped
from accounts.cabinet.settings_forms import lifetime_words
from accounts.models import AuditEvent, EventKind, Language, Member
from accounts.people import countries
from config import channels

NOTHING = "—"


@dataclass(frozen=True, slots=True)
class FieldChange:
    label: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.label}: {self.old} → {self.new}"


def of_event(event: AuditEvent) -> list[FieldChange]:
    return [] if texts.has_words(event) else described(event.changes)


def described(changes: Mapping[str, Any] | None) -> list[FieldChange]:
    return [
        FieldChange(label(name), value(name, old), value(name, new))
        for name, (old, new) in (changes or {}).items()
    ]


def label(name: str) -> str:
    if name in countries.CODES or name == "*":
        return _("any other country") if name == "*" else countries.name(name)
    return str(FIELD_LABELS.get(name, name))


def value(name: str, held: Any) -> str:
    if held is None or held in ("", []):
        return str(_empty(name))
    if isinstance(held, bool):
        return pgettext("answer", "yes") if held else pgettext("answer", "no")
    if name in READERS:
        return READERS[name](held)
    if isinstance(held, list):
        return ", ".join(map(str, held))
    return grouped(held) if isinstance(held, int) else str(held)


def _empty(name: str) -> str:
    if name == "default_channel":
        return _("the first connected")
    if name == "allowed_countries":
        return _("the company's own country")
    if name == "default_link_lifetime":
        return _("Never expires")
    if name in STANDARD or name.startswith("patience_"):
        return _("the usual")
    return NOTHING


STANDARD = {
    *("cool_down", "codes_per_10_min", "codes_per_hour", "codes_per_day"),
    *("links_per_10_min", "links_per_day", "day", "*"),
    *countries.CODES,
}


def _channel(name: str) -> str:
    one = channels.BY_NAME.get(name)
    return str(one.title) if one else name


def _countries(codes: list[str] | str) -> str:
    listed = codes if isinstance(codes, list) else [codes]
    return ", ".join(countries.name(code) for code in listed)


def _kinds(names: list[str]) -> str:
    known = dict(EventKind.choices)
    return ", ".join(str(known.get(name, name)) for name in names)


def _moment(text: str) -> str:
    at = timezone.localtime(datetime.fromisoformat(text))
    return str(date_format(at, pgettext("moment", "j M Y, H:i:s")))


READERS: dict[str, Callable[[Any], str]] = {
    "allowed_countries": _countries,
    "country": _countries,
    "channel": _channel,
    "default_channel": _channel,
    "fallback_chain": lambda names: " → ".join(map(_channel, names)),
    "documents_language": lambda code: str(dict(Language.choices).get(code, code or "—")),
    "language": lambda code: str(dict(Language.choices).get(code, code)),
    "locale": lambda code: str(dict(Language.choices).get(code, code)),
    "default_link_lifetime": lifetime_words,
    "closes_at": _moment,
    "expires_at": _moment,
    "kinds": _kinds,
    "role": lambda role: str(dict(Member.Role.choices).get(role, role)),
}
