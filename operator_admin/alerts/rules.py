"""What operators are alerted to: how long it must last, what it means, what to do about it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from typing import Any

from django.utils.translation import gettext_lazy as _

from accounts import jobs
from channels.vendor_accounts import error_texts
from config.channels import BY_NAME
from config.texts import StrOrPromise
from operator_admin.models import Alert


class Group(StrEnum):
    MINUTE = "minute"  # asks our own stores
    OUTSIDE = "outside"  # asks others: vendors, the mail server, our public address


@dataclass(frozen=True, slots=True)
class Rule:
    """`title` and `detail` are filled by the alert's facts, and by `subject` in words."""

    title: StrOrPromise
    detail: StrOrPromise
    cure: StrOrPromise
    pending: timedelta = timedelta(minutes=1)
    group: Group = Group.MINUTE
    causes: tuple[str, ...] = ()  # no notice while one of these is open: it says why
    subject_title: Callable[[str], StrOrPromise] = field(default=str)
    is_mailed_at_once: bool = False  # another e-mail announces it: `breaker_opened`

    def title_of(self, alert: Alert) -> str:
        return str(self.title) % self._facts(alert)

    def detail_of(self, alert: Alert) -> str:
        return str(self.detail) % self._facts(alert)

    def cure_of(self, alert: Alert) -> str:
        return str(self.cure) % self._facts(alert)

    def _facts(self, alert: Alert) -> Mapping[str, Any]:
        return {**alert.facts, "subject": self.subject_title(alert.subject)}


def _channel_title(name: str) -> StrOrPromise:
    return BY_NAME[name].title if name in BY_NAME else name


_MIN = timedelta(minutes=1)
_QUEUE_CURE = _(
    "See Queue and Providers in the admin: a silent worker, a provider that hangs, or too few "
    "workers."
)
_ACCOUNT_CURE = _(
    "Providers in the admin says why and tests the account; “A provider is down” in "
    "docs/operations/failures.md says what happens meanwhile."
)
_HEARD = _("Last heard from %(age)s s ago.")

# Keyed by name: the anchor on the admin's page of alerts, and the row in docs/operations/alerts.md.
RULES: dict[str, Rule] = {
    "worker-silent": Rule(
        _("No worker is alive: nothing is delivered"),
        _HEARD,
        _(
            "Start a worker (systemctl start kvitok-worker). If it runs, look for dispatch_failed "
            "in its log and restart it; nothing is lost."
        ),
    ),
    "beat-silent": Rule(
        _("Nothing on the schedule runs: e-mails, counts and checks wait"),
        _HEARD,
        _(
            "Start the beat (systemctl start kvitok-beat), exactly one. If it runs, check the "
            "broker and the worker."
        ),
        causes=("worker-silent", "redis-down"),
    ),
    "web-silent": Rule(
        _("No web process is alive: the API and the cabinet do not answer"),
        _HEARD,
        _("Start the web process (systemctl start kvitok-web) and read its log."),
    ),
    "bind-down": Rule(
        _("%(subject)s is not bound: its messages wait or go another way"),
        _("Its process is alive: %(alive)s."),
        _(
            "Read the log of its process: it says why the SMS centre refuses the bind. See "
            "docs/vendors/smpp.md."
        ),
        pending=2 * _MIN,
        subject_title=error_texts.provider_title,
    ),
    "queue-stands": Rule(
        _("Messages wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _QUEUE_CURE,
        pending=2 * _MIN,
        causes=("worker-silent",),
    ),
    "provider-paused": Rule(
        _("%(subject)s is paused: nothing is sent through it"),
        "%(reason)s",
        _ACCOUNT_CURE,
        subject_title=error_texts.provider_title,
        is_mailed_at_once=True,
    ),
    "provider-fails": Rule(
        _("A fifth of the calls to %(subject)s fail"),
        _("In the last 10 minutes: %(failures)s of %(calls)s."),
        _ACCOUNT_CURE,
        pending=5 * _MIN,
        causes=("provider-paused",),
        subject_title=error_texts.provider_title,
    ),
    "delivery-falls": Rule(
        _("Few messages by %(subject)s arrive"),
        _("In the last 30 minutes: %(delivered)s of %(final)s."),
        _("See Attempts of its providers by error: templates, the sender's reputation, a country."),
        pending=10 * _MIN,
        subject_title=_channel_title,
    ),
    "outcomes-unknown": Rule(
        _("Many calls to providers ended without an answer"),
        _("Of unknown outcome: %(count)s."),
        _("A provider answers late or not at all. Receipts or the deadline decide meanwhile."),
        pending=10 * _MIN,
    ),
    "receipts-parked": Rule(
        _("Receipts match no message"),
        _("Such receipts: %(count)s."),
        _(
            "Another system sends with the same account, or the variables of two accounts were "
            "swapped."
        ),
        pending=15 * _MIN,
    ),
    "balance-low": Rule(
        _("The balance at %(subject)s is running low"),
        "%(said)s",
        _("Top up with the provider: without funds it refuses every message."),
        pending=timedelta(),
        subject_title=error_texts.provider_title,
    ),
    "listener-down": Rule(
        _("A web process receives no outcomes: sends are answered “queued”"),
        _("Such processes: %(count)s."),
        _("Redis is down or hangs: fix it first, then restart the web process."),
        pending=5 * _MIN,
        causes=("redis-down",),
    ),
    "redis-down": Rule(
        _("Redis does not answer"),
        _("Sends are answered “queued”, clicks and scheduled work wait; no message is lost."),
        _("Start Redis, or correct REDIS_URL."),
    ),
    "clicks-stand": Rule(
        _("Clicks on links are not counted"),
        _("The oldest has waited for %(age)s s."),
        _("Check the worker and the beat, then the log for clicks_dead_lettered."),
        pending=5 * _MIN,
        causes=("worker-silent", "beat-silent"),
    ),
    "clickhouse-late": Rule(
        _("Clicks do not reach ClickHouse"),
        _("The oldest has waited for %(age)s s."),
        _(
            "Run doctor, which says why. After CLICKHOUSE_BACKLOG seconds ClickHouse misses the "
            "clicks; PostgreSQL counts all of them."
        ),
        pending=5 * _MIN,
        causes=("worker-silent", "beat-silent"),
    ),
    "webhooks-stand": Rule(
        _("Webhooks wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _("Check the worker: it delivers them."),
        pending=5 * _MIN,
        causes=("worker-silent",),
    ),
    "mail-stands": Rule(
        _("E-mails wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _("Check the mail server, then the worker and the broker: doctor says which it is."),
        pending=5 * _MIN,
        causes=("worker-silent", "beat-silent"),
    ),
    "ledger-breach": Rule(
        _("The ledger is inconsistent"),
        "%(said)s",
        _(
            "Run: python manage.py reconcile --full. Change no rows by hand: see “The ledger is "
            "inconsistent” in docs/operations/failures.md."
        ),
        pending=timedelta(),
    ),
    "work-given-up": Rule(
        _("Work for a company was given up: %(subject)s"),
        _("Given up: %(count)s. The last error: %(error)s."),
        _(
            "Failed work in the admin says whose, job_failed in the log why. It is tried once a "
            "day, and at once by “Try again now”."
        ),
        pending=timedelta(),
        subject_title=jobs.title_of,
    ),
    "disk-full": Rule(
        _("A disk is nearly full"),
        _("%(subject)s: %(free)s%% free."),
        _("Delete or move what is not ours, or enlarge the disk."),
        pending=2 * _MIN,
    ),
    "certificate-ends": Rule(
        _("The certificate of %(subject)s expires soon"),
        _("Days left: %(days)s."),
        _("Renew it, then reload the proxy or the web process that uses it."),
        pending=timedelta(),
        group=Group.OUTSIDE,
    ),
    "account-broken": Rule(
        _("%(subject)s is not set up as it should be"),
        "%(said)s",
        _("Providers in the admin: “Set up and test” of this account names what to do."),
        pending=timedelta(minutes=20),  # a vendor's short outage is none of ours
        group=Group.OUTSIDE,
        subject_title=error_texts.provider_title,
    ),
    "doctor": Rule(
        _("doctor: %(subject)s"),
        "%(said)s",
        "%(cure)s",
        pending=timedelta(minutes=10),
        group=Group.OUTSIDE,
    ),
}
