"""Labels and bars of the status page."""

from collections.abc import Iterable
from dataclasses import dataclass

from django import template
from django.utils.formats import date_format, number_format
from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy, ngettext

from catalogue.texts import StrOrPromise
from operator_admin.status.summary import Component, Day, Level

register = template.Library()

# Units of the drawing.
BAR = 6
GAP = 3
LEVELS: dict[str, StrOrPromise] = {
    Level.OPERATIONAL: gettext_lazy("Works"),
    Level.MAINTENANCE: gettext_lazy("Maintenance"),
    Level.DEGRADED: gettext_lazy("Degraded"),
    Level.OUTAGE: gettext_lazy("Outage"),
}
OVERALL: dict[str, StrOrPromise] = {
    Level.OPERATIONAL: gettext_lazy("Everything works"),
    Level.MAINTENANCE: gettext_lazy("Maintenance is under way"),
    Level.DEGRADED: gettext_lazy("Some components are degraded"),
    Level.OUTAGE: gettext_lazy("Some components are down"),
}
_DAY_WORDS: dict[str, StrOrPromise] = {
    Level.OPERATIONAL: gettext_lazy("as usual"),
    Level.MAINTENANCE: gettext_lazy("maintenance"),
    Level.DEGRADED: gettext_lazy("difficulties"),
    Level.OUTAGE: gettext_lazy("a failure"),
}


@dataclass(frozen=True, slots=True)
class Bar:
    x: int
    css: str
    title: str


register.filter("level_label", lambda level: LEVELS[level])
register.filter("overall_label", lambda level: OVERALL[level])


@register.filter
def day_label(day: Day) -> StrOrPromise:
    return _DAY_WORDS[day.level] if day.level else _("no figures")


@register.filter
def seconds(value: float | None) -> str:
    if value is None:
        return "—"
    number = number_format(value, 1 if value < 10 else 0)
    return _("%(n)s s") % {"n": number}


@register.filter
def bars(component: Component) -> list[Bar]:
    return [
        Bar(index * (BAR + GAP), day.css, _title(day, is_api=component.is_api))
        for index, day in enumerate(component.days)
    ]


def _title(day: Day, *, is_api: bool) -> str:
    texts = [f"{date_format(day.day, 'DATE_FORMAT')}: {day_label(day)}"]
    if day.share is not None:
        texts.append(
            (_("alive %(share)s%%") if is_api else _("delivered %(share)s%%"))
            % {"share": day.share}
        )
    if day.median_seconds is not None:
        texts.append(_("half within %(time)s") % {"time": seconds(day.median_seconds)})
    return ", ".join(texts)


@register.filter
def summarised(component: Component) -> str:
    """The bars described as text."""
    days = [day for day in component.days if day.level]
    bad = sum(day.level != Level.OPERATIONAL for day in days)
    text = ngettext("%(n)d day with figures", "%(n)d days with figures", len(days))
    worse = ngettext("%(n)d of them not as usual", "%(n)d of them not as usual", bad)
    return f"{component.title}: {text % {'n': len(days)}}, {worse % {'n': bad}}"


@register.filter
def with_figures(days: Iterable[Day]) -> list[Day]:
    """The days with a level or figures, newest first."""
    return [day for day in reversed(list(days)) if day.level or day.share is not None]
