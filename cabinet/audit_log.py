"""The cabinet's audit log: a list with filters, its CSV file, and values as text."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django import forms
from django.db.models import Q, QuerySet, TextChoices
from django.http import HttpResponse, QueryDict
from django.shortcuts import render
from django.utils import timezone
from django.utils.formats import date_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, pgettext

from accounts import audit
from accounts.audit import FIELD_LABELS
from accounts.models import AuditEvent, Company, GuardMode, Member, Mode
from accounts.people import countries
from accounts.people.cabinet_access import CabinetRequest, can_manage_keys, member_required
from api import pagination
from cabinet.csv_exports import CsvKind, Download, Selection
from cabinet.forms import FilterForm, grouped
from cabinet.settings_forms import SECTIONS, LimitsSection, lifetime_text
from catalogue import channels
from catalogue.languages import message_languages
from parsing.days import local_time, start_of
from parsing.form_fields import DayBoundField, LineField
from webhooks.models import EventKind

EMPTY = "—"
HAS_SERVICE_DEFAULT = {*LimitsSection.stored, "day", "*", *countries.CODES}


@dataclass(frozen=True, slots=True)
class FieldChange:
    label: str
    old: str
    new: str

    def __str__(self) -> str:
        return f"{self.label}: {self.old} → {self.new}"


def event_changes(event: AuditEvent) -> list[FieldChange]:
    return [] if audit.has_description(event) else field_changes(event.changes)


def field_changes(changes: Mapping[str, Any] | None) -> list[FieldChange]:
    return [
        FieldChange(field_label(name), field_value(name, old), field_value(name, new))
        for name, (old, new) in (changes or {}).items()
    ]


def field_label(name: str) -> str:
    if name in countries.CODES or name == "*":
        return _("any other country") if name == "*" else countries.name(name)
    return str(FIELD_LABELS.get(name, name))


def field_value(name: str, value: Any) -> str:
    if value is None or value in ("", []):
        return str(_empty(name))
    if isinstance(value, bool):
        return pgettext("answer", "yes") if value else pgettext("answer", "no")
    if name in FORMATTERS:
        return FORMATTERS[name](value)
    if isinstance(value, list):
        return ", ".join(map(str, value))
    return grouped(value) if isinstance(value, int) else str(value)


def _empty(name: str) -> str:
    if name == "default_channel":
        return _("the first connected")
    if name == "allowed_countries":
        return _("the company's own country")
    if name == "default_link_lifetime":
        return _("Never expires")
    if name in HAS_SERVICE_DEFAULT or name.startswith("patience_"):
        return _("the default")
    return EMPTY


def _channel(name: str) -> str:
    channel = channels.BY_NAME.get(name)
    return str(channel.title) if channel else name


def _countries(codes: list[str] | str) -> str:
    listed = codes if isinstance(codes, list) else [codes]
    return ", ".join(countries.name(code) for code in listed)


def _kinds(names: list[str]) -> str:
    titles = dict(EventKind.choices)
    return ", ".join(str(titles.get(name, name)) for name in names)


def _moment(text: str) -> str:
    at = timezone.localtime(datetime.fromisoformat(text))
    return str(date_format(at, pgettext("moment", "j M Y, H:i:s")))


def _reader(choices: type[TextChoices]) -> Callable[[Any], str]:
    return lambda value: str(dict(choices.choices).get(value, value))


def _language(code: str) -> str:
    return message_languages.native_name(code) if code else "—"


FORMATTERS: dict[str, Callable[[Any], str]] = {
    "allowed_countries": _countries,
    "country": _countries,
    "channel": _channel,
    "default_channel": _channel,
    "fallback_chain": lambda names: " → ".join(map(_channel, names)),
    "documents_language": _language,
    "guard_mode": _reader(GuardMode),
    "language": _language,
    "locale": _language,
    "mode": _reader(Mode),
    "status": _reader(Company.Status),
    "default_link_lifetime": lifetime_text,
    "closes_at": _moment,
    "expires_at": _moment,
    "kinds": _kinds,
    "role": _reader(Member.Role),
}


BUDGET_ACTIONS = "budget."  # about money, but developers may read the page of budgets too
# Kind → (title, prefixes of its actions).
KINDS: dict[str, tuple[Any, tuple[str, ...]]] = {
    "settings": (
        gettext_lazy("settings and texts"),
        ("settings.", "text.", "autofill.", "policy.", "guard."),
    ),
    "members": (gettext_lazy("members"), ("member.", "invitation.", "session.")),
    "keys": (gettext_lazy("API keys"), ("key.",)),
    "webhooks": (gettext_lazy("webhooks"), ("webhook.",)),
    "links": (gettext_lazy("short links"), ("link.", "links.")),
    "messages": (gettext_lazy("messages and people"), ("message.", "history.", "person.")),
    "money": (
        gettext_lazy("money"),
        (
            *("order.", "payment.", "billing.", "document.", "budget.", "wallet.", "statement."),
            *("auto_top_up.", "balance_alert.", "method.", "refund.", "transfer.", "prices."),
        ),
    ),
    "company": (gettext_lazy("the company itself"), ("company.", "audit.", "admin.")),
}


class AuditFilter(FilterForm):
    person = LineField(
        label=gettext_lazy("Who"),
        max_length=254,
        required=False,
        widget=forms.TextInput(
            attrs={"list": "audit-people", "placeholder": "name@example.com", "spellcheck": "false"}
        ),
    )
    kind = forms.ChoiceField(
        label=gettext_lazy("What about"),
        required=False,
        choices=[
            ("", gettext_lazy("anything")),
            *((name, title) for name, (title, _prefixes) in KINDS.items()),
        ],
    )
    section = forms.ChoiceField(
        label=gettext_lazy("Section of settings"),
        required=False,
        choices=lambda: [
            ("", gettext_lazy("any section")),
            *((slug, form.title) for slug, form in SECTIONS.items()),
        ],
    )
    date_from = DayBoundField(label=gettext_lazy("From"), required=False)
    date_to = DayBoundField(label=gettext_lazy("To"), required=False)


@member_required(can_manage_keys)
def audit_list(request: CabinetRequest) -> HttpResponse:
    form = AuditFilter(request.GET)
    filters = form.filters()
    history = _history(request.member, filters)
    page = pagination.page_or_first(
        matching(history, filters), request.GET, history=history if filters else None
    )
    context = {
        "form": form,
        "page": page,
        "events": [(event, *describe(event)) for event in page.rows],
        "people": request.company.members.values_list("user__email", flat=True).order_by("pk"),
        "is_filtered": bool(filters),
    }
    return render(request, "cabinet/audit_list.html", context)


def describe(event: AuditEvent) -> tuple[Any, str, list[FieldChange]]:
    """The action, its subject (empty if only fields changed), and the old and new values."""
    changes = event_changes(event)
    subject = "" if changes and audit.has_fields(event) else audit.subject(event)
    return audit.label(event.action), subject, changes


def _history(member: Member, filters: Mapping[str, Any]) -> QuerySet[AuditEvent]:
    rows = AuditEvent.objects.filter(company=member.company_id).select_related("user")
    if not member.can_see_money:
        rows = rows.exclude(_of_kind("money") & ~Q(action__startswith=BUDGET_ACTIONS))
    if first := filters.get("date_from"):
        rows = rows.filter(created_at__gte=start_of(first))
    if last := filters.get("date_to"):
        rows = rows.filter(created_at__lt=start_of(last + timedelta(days=1)))
    return rows


def matching(rows: QuerySet[AuditEvent], filters: Mapping[str, Any]) -> QuerySet[AuditEvent]:
    if person := filters.get("person"):
        rows = rows.filter(actor__icontains=person.strip(), by_operator=False)
    if kind := filters.get("kind"):
        rows = rows.filter(_of_kind(kind))
    if section := filters.get("section"):
        rows = rows.filter(_of_section(section))
    return rows


def _of_kind(kind: str) -> Q:
    condition = Q()
    for prefix in KINDS[kind][1]:
        condition |= Q(action__startswith=prefix)
    return condition


def _of_section(slug: str) -> Q:
    names = SECTIONS[slug].stored
    fields = [name for name in audit.FIELD_LABELS if name.startswith(names)]
    return Q(action="settings.changed", changes__has_any_keys=fields)


class AuditCsv(CsvKind):
    name = "audit"
    title = gettext_lazy("Audit log")
    page = "audit-list"
    action = "audit.exported"
    model = AuditEvent
    max_rows = None

    def allows(self, member: Member) -> bool:
        return member.can_manage_keys

    def form(self, query: QueryDict, member: Member) -> AuditFilter:
        return AuditFilter(query)

    def select(self, download: Download) -> Selection:
        # Without the event that records this download.
        history = _history(download.member, download.filters)
        earlier = history.filter(created_at__lt=download.asked_at)
        return Selection(matching(earlier, download.filters), earlier)

    def headings(self) -> list[str]:
        of_event = [_("Time"), _("Who"), _("What"), _("Details")]
        return [*of_event, _("Old and new values"), _("IP address")]

    def cells(self, row: AuditEvent, member: Member) -> list[str]:
        description, subject, changes = describe(row)
        values = "; ".join(map(str, changes))
        at = local_time(row.created_at)
        return [at, row.actor_shown, str(description), subject, values, row.ip_shown]
