"""Looks every ten minutes whether fewer codes of a company arrive than usual, and says so once.

A phone that is asked a hundred times counts as one, by the share of its codes that arrived. The
norm are the company's own last two weeks on that channel, from the daily counts. Links are not
watched: one without proof of delivery ends a day later.
"""

from collections.abc import Collection, Iterator, Mapping
from datetime import datetime, timedelta
from typing import NamedTuple

from django.conf import settings
from django.db import connection, transaction
from django.db.models import Q, Sum
from django.urls import reverse
from django.utils import timezone
from django.utils.translation import gettext_lazy as _

from accounts.jobs import Job
from accounts.models import Company, Member
from accounts.outbox import mail
from channels.history.delivery_drop import MIN_ENDED, Drop, Outcomes, delivery_drop
from channels.history.figures import FINAL_STATES
from channels.models import DayCount, DeliveryDrop, Message
from config.channels import BY_NAME
from config.ids import first_id_at

JOB = Job("delivery_drops", _("letters about falling delivery"))
WINDOW = timedelta(hours=2)
# Younger ones are left out: those that arrive end sooner than those that fail.
YOUNGEST = timedelta(minutes=5)
NORM_DAYS = 14
# Percentage points below the norm at which a drop is over. It begins at ten: a share that moves
# around one line would end it and begin another, with a letter for each.
OVER = 5.0
SILENT = timedelta(hours=6)  # too few messages to say anything: the drop is over
KEPT = timedelta(days=90)
NOTIFIED_ROLES = (Member.Role.OWNER, Member.Role.DEVELOPER)

# Ids begin with the time: the range is a few pages of the primary key's index.
_RECENT = """
SELECT company_id, channel, round(sum(share))::int AS delivered, count(*) AS ended
FROM (
  SELECT company_id, channel, avg((state = 'delivered')::int) AS share FROM channels_message
  WHERE id >= %s AND id < %s AND mode = 'live' AND kind = 'code' AND state = ANY(%s)
  GROUP BY company_id, channel, phone
) AS phones
GROUP BY company_id, channel HAVING count(*) >= %s
"""


class Place(NamedTuple):
    company_id: int
    channel: str


def watch() -> None:
    now = timezone.now()
    recent = _recent(now)
    norms = _norms({place.company_id for place in recent}, now)
    drops = dict(_drops(recent, norms))
    JOB.each(drops, lambda place: _note(place, drops[place], now))
    _end({place for place in recent if _is_as_usual(recent[place], norms.get(place))}, now)
    DeliveryDrop.objects.filter(ended_at__lt=now - KEPT).delete()


def open_drops(company: Company) -> list[DeliveryDrop]:
    return list(DeliveryDrop.objects.filter(company=company, ended_at=None).order_by("channel"))


def _recent(now: datetime) -> dict[Place, Outcomes]:
    since, until = first_id_at(now - WINDOW), first_id_at(now - YOUNGEST)
    with connection.cursor() as cursor:
        cursor.execute(_RECENT, [since, until, sorted(FINAL_STATES), MIN_ENDED])
        rows = cursor.fetchall()
    return {
        Place(company_id, channel): Outcomes(delivered=delivered, ended=ended)
        for company_id, channel, delivered, ended in rows
    }


def _norms(companies: Collection[int], now: datetime) -> dict[Place, Outcomes]:
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
        delivered=Sum("messages", filter=Q(state="delivered"), default=0), ended=Sum("messages")
    )
    return {
        Place(company_id, channel): Outcomes(delivered=delivered, ended=ended)
        for company_id, channel, delivered, ended in sums
    }


def _drops(
    recent: Mapping[Place, Outcomes], norms: Mapping[Place, Outcomes]
) -> Iterator[tuple[Place, Drop]]:
    for place, outcomes in recent.items():
        norm = norms.get(place)
        if norm and (drop := delivery_drop(outcomes, norm)):
            yield place, drop


def _is_as_usual(recent: Outcomes, norm: Outcomes | None) -> bool:
    return norm is None or not norm.ended or 100 * (norm.share - recent.share) < OVER


@transaction.atomic
def _note(place: Place, drop: Drop, now: datetime) -> None:
    """Of two runs at once, one creates the row and posts the letter."""
    seen = {"share": drop.now, "usual": drop.norm, "seen_at": now}
    row, is_new = DeliveryDrop.objects.get_or_create(
        company_id=place.company_id,
        channel=place.channel,
        ended_at=None,
        defaults={**seen, "began_at": now},
    )
    if is_new:
        _post(row)
    else:
        DeliveryDrop.objects.filter(pk=row.pk).update(**seen)


def _end(as_usual: Collection[Place], now: datetime) -> None:
    for row in DeliveryDrop.objects.filter(ended_at=None):
        is_over = Place(row.company_id, row.channel) in as_usual or row.seen_at < now - SILENT
        if is_over:
            DeliveryDrop.objects.filter(pk=row.pk, ended_at=None).update(ended_at=now)


def _post(row: DeliveryDrop) -> None:
    company = Company.objects.get(pk=row.company_id)
    page = f"{reverse('message-list')}?mode=live&channel={row.channel}&kind=code"
    mail.post_to_members(
        company=company,
        roles=NOTIFIED_ROLES,
        template="delivery_drop",
        context={
            "channel": BY_NAME[row.channel].title,
            "share": row.share,
            "usual": row.usual,
            "page_url": f"{settings.PUBLIC_URL}{page}",
        },
        key=f"delivery-drop:{row.pk}",
    )
