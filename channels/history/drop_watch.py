"""Checks every ten minutes whether fewer of a company's codes arrive than usual; reports each drop
once.

A phone that requests a hundred codes counts as one, by the share of its codes that arrived. The
norm is the company's last two weeks on that channel, from the daily counts. Links are not watched:
a link without proof of delivery expires a day later.
"""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, timedelta
from math import exp, log
from typing import NamedTuple

from django.conf import settings
from django.db import transaction
from django.db.models import Q, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import TECHNICAL_ROLES, Company
from accounts.outbox import mail
from catalogue.channels import BY_NAME
from catalogue.ids import first_id_at
from channels.history.figures import FINAL_STATES
from channels.models import DayCount, DeliveryDrop, Message
from storage.statements import sql_files
from storage.statements.queries import fetch_tuples

MIN_ENDED = 20  # current messages; with fewer, one switched-off phone moves the share
MIN_NORM = 100  # messages in the norm
# The probability of so few deliveries by chance. Checks run 52,560 times a year.
MAX_CHANCE = 1e-6
# Percentage points. With thousands of messages even a drop too small to act on is significant.
MIN_POINTS = 10.0

JOB = Job("delivery_drops", _("e-mails about falling delivery"))
WINDOW = timedelta(hours=2)
# Younger messages are left out: deliveries end sooner than failures.
YOUNGEST = timedelta(minutes=5)
NORM_DAYS = 14
# Percentage points below the norm at which a drop has ended. A drop begins at ten: with one
# threshold a share that fluctuates around it would cause an e-mail each time.
RECOVERY_MARGIN = 5.0
SILENT = timedelta(hours=6)  # too few messages to judge: the drop has ended
RETENTION = timedelta(days=90)

_RECENT = sql_files.read("channels/history/drop_watch.sql")


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Messages that ended, and how many of them were delivered."""

    delivered: int
    ended: int

    @property
    def share(self) -> float:
        """The delivered share in per cent."""
        return 100 * self.delivered / self.ended


def is_drop(now: Outcomes, norm: Outcomes) -> bool:
    """Whether the share fell significantly, and by at least MIN_POINTS. False while either period
    has too few messages. `norm` must not contain `now`.
    """
    if now.ended < MIN_ENDED or norm.ended < MIN_NORM:
        return False
    return norm.share - now.share >= MIN_POINTS and _chance_at_most(now, norm) < MAX_CHANCE


def _chance_at_most(now: Outcomes, norm: Outcomes) -> float:
    """Chernoff's upper bound of the binomial tail: exp(-n·KL(now ‖ norm)).

    The normal approximation (a z-test) raised false alarms where failures are few: their
    distribution is skewed. The norm is smoothed by Laplace's rule, so that it is never 0 or 1.
    """
    usual_share = (norm.delivered + 1) / (norm.ended + 2)
    share = now.delivered / now.ended
    return exp(
        -now.ended
        * (_divergence_term(share, usual_share) + _divergence_term(1 - share, 1 - usual_share))
    )


def _divergence_term(share: float, usual_share: float) -> float:
    return share * log(share / usual_share) if share else 0.0


class CompanyChannel(NamedTuple):
    company_id: int
    channel: str


def watch() -> None:
    now = timezone.now()
    recent = _recent(now)
    norms = _norms({pair.company_id for pair in recent}, now)
    drops = [pair for pair in recent if pair in norms and is_drop(recent[pair], norms[pair])]
    JOB.each(drops, lambda pair: _record_drop(pair, recent[pair], norms[pair], now))
    _end({pair for pair in recent if _is_as_usual(recent[pair], norms.get(pair))}, now)
    DeliveryDrop.objects.filter(ended_at__lt=now - RETENTION).delete()


def open_drops(company: Company) -> list[DeliveryDrop]:
    return list(DeliveryDrop.objects.filter(company=company, ended_at=None).order_by("channel"))


def _recent(now: datetime) -> dict[CompanyChannel, Outcomes]:
    since, until = first_id_at(now - WINDOW), first_id_at(now - YOUNGEST)
    rows = fetch_tuples(_RECENT, [since, until, sorted(FINAL_STATES), MIN_ENDED])
    return {
        CompanyChannel(company_id, channel): Outcomes(delivered, ended)
        for company_id, channel, delivered, ended in rows
    }


def _norms(companies: Collection[int], now: datetime) -> dict[CompanyChannel, Outcomes]:
    today = timezone.localdate(now)
    days = DayCount.objects.filter(
        company__in=companies,
        mode="live",
        kind=Message.Kind.CODE,
        day__gte=today - timedelta(days=NORM_DAYS),
        day__lt=today,
        state__in=FINAL_STATES,
    )
    sums = days.values_list("company_id", "channel").annotate(
        delivered=Sum("messages", filter=Q(state=Message.State.DELIVERED), default=0),
        ended=Sum("messages"),
    )
    return {
        CompanyChannel(company_id, channel): Outcomes(delivered, ended)
        for company_id, channel, delivered, ended in sums
    }


def _is_as_usual(recent: Outcomes, norm: Outcomes | None) -> bool:
    return norm is None or not norm.ended or norm.share - recent.share < RECOVERY_MARGIN


@transaction.atomic
def _record_drop(pair: CompanyChannel, recent: Outcomes, norm: Outcomes, now: datetime) -> None:
    """Opens or updates a drop: only one of two runs at once creates it and posts the e-mail."""
    figures = {"share": recent.share, "usual": norm.share, "seen_at": now}
    row, is_new = DeliveryDrop.objects.get_or_create(
        company_id=pair.company_id,
        channel=pair.channel,
        ended_at=None,
        defaults={**figures, "began_at": now},
    )
    if is_new:
        _post(row)
    else:
        DeliveryDrop.objects.filter(pk=row.pk).update(**figures)


def _end(as_usual: Collection[CompanyChannel], now: datetime) -> None:
    for row in DeliveryDrop.objects.filter(ended_at=None):
        has_ended = (
            CompanyChannel(row.company_id, row.channel) in as_usual or row.seen_at < now - SILENT
        )
        if has_ended:
            DeliveryDrop.objects.filter(pk=row.pk, ended_at=None).update(ended_at=now)


def _post(row: DeliveryDrop) -> None:
    company = Company.objects.get(pk=row.company_id)
    page = f"{reverse('message-list')}?mode=live&channel={row.channel}&kind=code"
    mail.post_to_members(
        company=company,
        roles=TECHNICAL_ROLES,
        template="delivery_drop",
        context={
            "channel": BY_NAME[row.channel].title,
            "share": row.share,
            "usual": row.usual,
            "page_url": f"{settings.PUBLIC_URL}{page}",
        },
        kind=mail.NoticeKind.DELIVERY,
        key=f"delivery-drop:{row.pk}",
    )
