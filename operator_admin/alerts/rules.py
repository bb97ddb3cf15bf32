"""The rules of alerts to operators: the condition, how long it must last, the remedy."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum

from django.utils.translation import gettext_lazy as _

from accounts import jobs
from catalogue.channels import BY_NAME
from catalogue.texts import StrOrPromise
from channels.vendor_accounts import error_texts
from operator_admin.alerts import conditions
from operator_admin.models import Alert


class Group(StrEnum):
    MINUTE = "minute"  # reads our own stores
    OUTSIDE = "outside"  # queries vendors, the mail server, our public address


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule; the alert's details and `subject_title` are filled into its texts."""

    condition: conditions.Condition
    title: StrOrPromise
    detail: StrOrPromise
    remedy: StrOrPromise
    pending: timedelta = timedelta(minutes=1)
    group: Group = Group.MINUTE
    causes: tuple[str, ...] = ()  # no notice while an alert of these rules is open
    subject_title: Callable[[str], StrOrPromise] = field(default=str)
    is_mailed_at_once: bool = False  # `breaker_opened` has announced it by e-mail

    def texts_of(self, alert: Alert) -> tuple[str, str, str]:
        """The title, the detail and the remedy."""
        details = {**alert.details, "subject": self.subject_title(alert.subject)}
        return str(self.title) % details, str(self.detail) % details, str(self.remedy) % details


def _channel_title(name: str) -> StrOrPromise:
    return BY_NAME[name].title if name in BY_NAME else name


_MIN = timedelta(minutes=1)
_ACCOUNT_REMEDY = _(
    "Providers in the admin says why and tests the account; “A provider is down” in "
    "docs/operations/failures.md says what happens meanwhile."
)
_LAST_HEARTBEAT = _("The last heartbeat was %(age)s s ago.")

# Keyed by name: the anchor on the admin's page of alerts, and the row in docs/operations/alerts.md.
RULES: dict[str, Rule] = {
    "worker-silent": Rule(
        conditions.no_heartbeat_of("delivery"),
        _("No worker is alive: nothing is delivered"),
        _LAST_HEARTBEAT,
        _(
            "Start a worker (systemctl start kvitok-worker). If it runs, look for dispatch_failed "
            "in its log and restart it; nothing is lost."
        ),
    ),
    "beat-silent": Rule(
        conditions.no_heartbeat_of("beat"),
        _("Nothing on the schedule runs: e-mails, counts and checks wait"),
        _LAST_HEARTBEAT,
        _(
            "Start the beat (systemctl start kvitok-beat), exactly one. If it runs, check the "
            "broker and the worker."
        ),
        causes=("worker-silent", "redis-down"),
    ),
    "web-silent": Rule(
        conditions.no_heartbeat_of("web"),
        _("No web process is alive: the API and the cabinet do not answer"),
        _LAST_HEARTBEAT,
        _("Start the web process (systemctl start kvitok-web) and read its log."),
    ),
    "bind-down": Rule(
        conditions.bind_down,
        _("%(subject)s is not bound: its messages wait or take another route"),
        _("Live processes: %(alive)s."),
        _(
            "Read the log of its process: it says why the SMS centre refuses the bind. See "
            "docs/vendors/smpp.md."
        ),
        pending=2 * _MIN,
        subject_title=error_texts.provider_title,
    ),
    "queue-stands": Rule(
        conditions.queue_older_than("due", "oldest_due", 30),
        _("Messages wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _(
            "See Queue and Providers in the admin: a silent worker, a provider that hangs, or too "
            "few workers."
        ),
        pending=2 * _MIN,
        causes=("worker-silent",),
    ),
    "provider-paused": Rule(
        conditions.provider_paused,
        _("%(subject)s is paused: nothing is sent through it"),
        "%(reason)s",
        _ACCOUNT_REMEDY,
        subject_title=error_texts.provider_title,
        is_mailed_at_once=True,
    ),
    "provider-fails": Rule(
        conditions.provider_fails,
        _("A fifth of the calls to %(subject)s fail"),
        _("In the last 10 minutes: %(failures)s of %(calls)s."),
        _ACCOUNT_REMEDY,
        pending=5 * _MIN,
        causes=("provider-paused",),
        subject_title=error_texts.provider_title,
    ),
    "delivery-falls": Rule(
        conditions.delivery_falls,
        _("Few messages by %(subject)s arrive"),
        _("In the last 30 minutes: %(delivered)s of %(final)s."),
        _("See Attempts of its providers by error: templates, the sender's reputation, a country."),
        pending=10 * _MIN,
        subject_title=_channel_title,
    ),
    "outcomes-unknown": Rule(
        conditions.exceeds("ambiguous", 50),
        _("Many calls to providers ended without an answer"),
        _("Of unknown outcome: %(count)s."),
        _("A provider answers late or not at all. Receipts or the deadline decide meanwhile."),
        pending=10 * _MIN,
    ),
    "receipts-parked": Rule(
        conditions.exceeds("parked_receipts", 200),
        _("Receipts match no message"),
        _("Receipts: %(count)s."),
        _(
            "Another system sends with the same account, or the variables of two accounts were "
            "swapped."
        ),
        pending=15 * _MIN,
    ),
    "balance-low": Rule(
        conditions.balance_low,
        _("The balance at %(subject)s is running low"),
        "%(reason)s",
        _("Top up with the provider: without funds it refuses every message."),
        pending=timedelta(),
        subject_title=error_texts.provider_title,
    ),
    "listener-down": Rule(
        conditions.listener_down,
        _("A web process receives no outcomes: sends are answered “queued”"),
        _("Processes: %(count)s."),
        _("Redis is down or hangs: fix it first, then restart the web process."),
        pending=5 * _MIN,
        causes=("redis-down",),
    ),
    "redis-down": Rule(
        conditions.redis_down,
        _("Redis does not answer"),
        _("Sends are answered “queued”, clicks and scheduled work wait; no message is lost."),
        _("Start Redis, or correct REDIS_URL."),
    ),
    "clicks-stand": Rule(
        conditions.clicks_late,
        _("Clicks on links are not counted"),
        _("The oldest has waited for %(age)s s."),
        _("Check the worker and the beat, then the log for clicks_dead_lettered."),
        pending=5 * _MIN,
        causes=("worker-silent", "beat-silent"),
    ),
    "clickhouse-late": Rule(
        conditions.clickhouse_late,
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
        conditions.queue_older_than("webhooks", "oldest_webhook", 300),
        _("Webhooks wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _("Check the worker: it delivers them."),
        pending=5 * _MIN,
        causes=("worker-silent",),
    ),
    "mail-stands": Rule(
        conditions.queue_older_than("emails", "oldest_email", 300),
        _("E-mails wait to be sent"),
        _("Due: %(due)s; the oldest for %(age)s s."),
        _("Check the mail server, then the worker and the broker: doctor says which it is."),
        pending=5 * _MIN,
        causes=("worker-silent", "beat-silent"),
    ),
    "ledger-breach": Rule(
        conditions.ledger_breach,
        _("The ledger is inconsistent"),
        "%(reason)s",
        _(
            "Run: python manage.py reconcile --full. Change no rows by hand: see “The ledger is "
            "inconsistent” in docs/operations/failures.md."
        ),
        pending=timedelta(),
    ),
    "work-given-up": Rule(
        conditions.work_given_up,
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
        conditions.disk_full,
        _("A disk is nearly full"),
        _("%(subject)s: %(free)s%% free."),
        _("Delete or move foreign files, or enlarge the disk."),
        pending=2 * _MIN,
    ),
    "certificate-ends": Rule(
        conditions.certificate_ends,
        _("The certificate of %(subject)s expires soon"),
        _("Days left: %(days)s."),
        _("Renew it, then reload the proxy or the web process that uses it."),
        pending=timedelta(),
        group=Group.OUTSIDE,
    ),
    "account-broken": Rule(
        conditions.account_broken,
        _("%(subject)s is not set up as it should be"),
        "%(reason)s",
        _("Providers in the admin: “Set up and test” of this account names what to do."),
        pending=timedelta(minutes=20),  # a vendor's short outage is not the service's fault
        group=Group.OUTSIDE,
        subject_title=error_texts.provider_title,
    ),
    "doctor": Rule(
        conditions.failed_checks,
        _("doctor: %(subject)s"),
        "%(reason)s",
        "%(remedy)s",
        pending=timedelta(minutes=10),
        group=Group.OUTSIDE,
    ),
}
