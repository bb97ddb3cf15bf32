"""Notices above a company's figures: a channel is down, deliveries drop, tokens end."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import date, timedelta
from math import floor

from django.db.models import Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.formats import number_format
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from accounts.models import Company, Mode
from cabinet.templatetags.cabinet import share
from catalogue.channels import BY_NAME, CHANNELS, Channel
from channels.history import drop_watch
from channels.models import DayBreakdown, DayCount
from channels.providers.base import Content
from channels.vendor_accounts import availability, registry

PACE_DAYS = 7
FEW_DAYS = 7


@dataclass(frozen=True, slots=True)
class Notice:
    title: str
    text: str
    url: str
    action: str  # label of the link
    is_urgent: bool = False


def notices_for(company: Company, *, available: int | None) -> list[Notice]:
    """The notices to show. `available`: tokens, or None for members who do not see money."""
    notices = [*_channels_down(company), *_drops(company)]
    if available is not None:
        notices += _tokens_end(company, available)
    return notices


def _channels_down(company: Company) -> Iterator[Notice]:
    for channel in _unavailable_channels(company):
        yield Notice(
            _("%(channel)s is not available now") % {"channel": channel.title},
            _("Messages that name no channel take the next one; those that name it are refused."),
            reverse("status"),
            _("Service status"),
            is_urgent=True,
        )


def _unavailable_channels(company: Company) -> list[Channel]:
    """Channels that the company used recently; queries only while something is down."""
    down = [channel for channel in CHANNELS if _is_down(channel)]
    if not down:
        return []
    counts = DayCount.objects.filter(company=company, mode=Mode.LIVE, day__gte=_week_ago())
    used = set(counts.values_list("channel", flat=True).distinct())
    return [channel for channel in down if channel.name in used]


def _is_down(channel: Channel) -> bool:
    """Whether every account that carries the channel is switched off, or has an open breaker."""
    carried = [content for content in Content if registry.carries(channel, content, Mode.LIVE)]
    return bool(carried) and not any(
        availability.has_account(channel, content, Mode.LIVE) for content in carried
    )


def _drops(company: Company) -> Iterator[Notice]:
    for drop in drop_watch.open_drops(company):
        text = _(
            "In the last two hours %(now)s of the phones got their code; usually it is %(usual)s."
        )
        yield Notice(
            _("Fewer codes by %(channel)s are arriving") % {"channel": BY_NAME[drop.channel].title},
            text % {"now": share(drop.share), "usual": share(drop.usual)},
            f"{reverse('message-list')}?mode=live&channel={drop.channel}&kind=code",
            _("See the messages"),
            is_urgent=True,
        )


def _tokens_end(company: Company, available: int) -> Iterator[Notice]:
    spent = _spent_lately(company)
    if not spent:
        return
    days = floor(max(available, 0) * PACE_DAYS / spent)
    if days >= FEW_DAYS:
        return
    lasts = ngettext("Tokens for %(n)d day", "Tokens for %(n)d days", days) % {"n": days}
    yield Notice(
        lasts if days else _("Tokens for less than a day"),
        _("In the last week %(n)s tokens were spent. When none are left, nothing is sent.")
        % {"n": number_format(spent, use_l10n=True, force_grouping=True)},
        reverse("balance"),
        _("Top up"),
        is_urgent=days < 2,
    )


def _spent_lately(company: Company) -> int:
    """Tokens spent on the last whole days, as counted: at most an hour behind after midnight."""
    rows = DayBreakdown.objects.filter(
        company=company,
        mode=Mode.LIVE,
        dimension=DayBreakdown.Dimension.CHANNEL,
        day__gte=_week_ago(),
        day__lt=timezone.localdate(),
    )
    spent: int = rows.aggregate(spent=Sum("spent", default=0))["spent"]
    return spent


def _week_ago() -> date:
    return timezone.localdate() - timedelta(days=PACE_DAYS)
