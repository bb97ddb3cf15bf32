"""The overview's table of the steps reached by messages, with a link from each row to its
messages.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

from django.utils.translation import gettext as _
from django.utils.translation import gettext_lazy

from accounts.models import Company
from accounts.people import countries
from billing import message_prices
from catalogue.channels import BY_NAME
from catalogue.texts import StrOrPromise
from channels.history.breakdown import Breakdown, Dimension, Steps
from channels.history.messages import WITHOUT_KEY

MIN_CHARGED = 100  # deliveries by other channels than SMS; with fewer, a difference means little
TITLES: dict[str, StrOrPromise] = {
    Dimension.CHANNEL: gettext_lazy("By channel"),
    Dimension.COUNTRY: gettext_lazy("By country"),
    Dimension.PURPOSE: gettext_lazy("By purpose"),
    Dimension.API_KEY: gettext_lazy("By API key"),
}


HEADINGS: dict[str, StrOrPromise] = {
    Dimension.CHANNEL: gettext_lazy("Channel"),
    Dimension.COUNTRY: gettext_lazy("Country"),
    Dimension.PURPOSE: gettext_lazy("Purpose"),
    Dimension.API_KEY: gettext_lazy("API key"),
}


class Row(NamedTuple):
    title: str
    steps: Steps
    query: str  # filter of the message list; empty if no filter shows these messages


class StepCount(NamedTuple):
    """The number of messages that reached a step, and their share in per cent."""

    number: int
    share: float | None


class FunnelStep(NamedTuple):
    title: str
    note: str
    query: str  # empty if there is no list of exactly these messages
    now: StepCount
    before: StepCount  # in the period before

    @property
    def width(self) -> float:
        return round(self.now.share or 0, 1)


@dataclass(frozen=True, slots=True)
class SmsComparison:
    """The cost of deliveries, and of the same deliveries by SMS at today's price of their
    countries.
    """

    charged: int
    spent: int
    by_sms: int

    @property
    def saved(self) -> int:
        return self.by_sms - self.spent


def dimension_of(text: str) -> str:
    return text if text in Dimension.values else str(Dimension.CHANNEL)


def rows_of(table: Breakdown, company: Company) -> Iterator[Row]:
    api_keys = company.api_keys.all() if table.dimension == Dimension.API_KEY else ()
    keys = {str(key.pk): f"{key.name} ({key})" for key in api_keys}
    for value, steps in table.rows.items():
        title, filters = _describe(table.dimension, value, keys)
        yield Row(title, steps, urlencode(filters) if steps.requested else "")
    if table.rest.requested or table.rest.spent:
        yield Row(_("others"), table.rest, "")


def _describe(dimension: str, value: str, keys: dict[str, str]) -> tuple[str, dict[str, str]]:
    match dimension:
        case Dimension.COUNTRY:
            title = countries.name(value) if value else _("unknown")
        case Dimension.PURPOSE:
            return (value, {dimension: value}) if value else (_("links"), {"kind": "link"})
        case Dimension.API_KEY if not value:
            return _("without a key: cabinet, identity servers"), {dimension: WITHOUT_KEY}
        case Dimension.API_KEY:
            title = keys.get(value, value)
        case _:
            title = str(BY_NAME[value].title) if value in BY_NAME else _("unknown")
    return title, {dimension: value} if value else {}


def steps_of(total: Steps, before: Steps) -> list[FunnelStep]:
    """The steps with their shares. `before`: the counts of an equally long period before."""
    of_asked = _("of the messages asked for")
    of_linked = _("of what arrived with a short link")
    of_codes = _("of the codes, each counted once")
    steps = [
        (_("Requested"), "requested", "", "all"),
        (_("Accepted by carrier"), "handed_over", of_asked, ""),
        (_("Delivered"), "delivered", of_asked, "state=delivered"),
        (_("Link opened"), "opened", of_linked, ""),
        (_("Code entered"), "entered", of_codes, "kind=code"),
    ]
    return [
        FunnelStep(
            title,
            note,
            query,
            *(StepCount(getattr(counts, name), counts.share(name)) for counts in (total, before)),
        )
        for title, name, note, query in steps
    ]


def csv_rows(table: Breakdown, company: Company, *, sees_money: bool) -> Iterator[list[str | int]]:
    titles = [
        _("Requested"),
        _("Accepted by carrier"),
        _("Delivered"),
        _("Link opened"),
        _("Code entered"),
    ]
    yield [str(HEADINGS[table.dimension]), *titles, *([_("Tokens")] if sees_money else [])]
    for row in rows_of(table, company):
        steps = row.steps
        counts = [steps.requested, steps.handed_over, steps.delivered, steps.opened, steps.entered]
        yield [row.title, *counts, *([steps.spent] if sees_money else [])]


def compare_with_sms(by_country: Breakdown, by_channel: Breakdown) -> SmsComparison | None:
    """The comparison; None while too few messages used other channels."""
    sms = by_channel.rows.get("sms", Steps())
    total = by_country.total
    if total.charged - sms.charged < MIN_CHARGED:
        return None
    by_sms = sum(
        steps.charged * message_prices.price_of("sms", country)
        for country, steps in by_country.rows.items()
    )
    return SmsComparison(total.charged, total.spent, by_sms)
