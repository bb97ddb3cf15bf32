"""Messages: files, counts, deadlines, and the pages about them."""

from datetime import timedelta

from django.utils import timezone

from accounts.models import Company, CsvExport
from accounts.purges import PURGES
from cabinet import csv_exports
from channels.deliver import sweeps
from channels.history import day_counts, drop_watch
from channels.models import CountedDay, DayCount, DeliveryDrop, Message, StaleDay
from links.models import LinkImport
from otp.check import settlement
from otp.models import Verification
from parsing.days import start_of
from tests.channels.history.test_drop_watch import send, with_daily_counts
from tests.config.job_trials.trial import Trial, ago, owner_of, wallet_of
from tests.factories import AttemptFactory, MessageFactory, TransferFactory, VerificationFactory
from tests.otp.protection.sends import id_at


def _file(company: Company) -> None:
    MessageFactory.create(company=company)
    member = owner_of(company)
    kind = csv_exports.KINDS["messages"]
    csv_exports.start(kind=kind, member=member, query="", language="ru", ip=None)


def _dropped(company: Company) -> None:
    owner_of(company)
    with_daily_counts(company)
    send(company, 25, "failed")


def _counted_day(company: Company) -> None:
    """The day before yesterday is the next to be counted."""
    counted = timezone.localdate() - timedelta(days=3)
    CountedDay.objects.get_or_create(day=counted)
    at = start_of(counted + timedelta(days=1)) + timedelta(hours=3)
    MessageFactory.create(
        id=id_at(at), company=company, created_at=at, state="failed", finished_at=at
    )


def _overdue(company: Company) -> None:
    wallet_of(company, 0, held=1)
    message = MessageFactory.create(company=company, state="sent", deadline=ago(minutes=1))
    AttemptFactory.create(message=message, state="sent")


def _is_ended(company: Company) -> bool:
    return not Message.objects.filter(company=company, state__in=["queued", "sent"]).exists()


def _entered(company: Company) -> None:
    """A code entered right before its receipt."""
    wallet_of(company, 0, held=1)
    now = timezone.now()
    code = VerificationFactory.create(company=company, verified_at=now, judged_at=now)
    message = MessageFactory.create(
        company=company, state="sent", phone=code.phone, subject_id=code.pk
    )
    AttemptFactory.create(message=message, state="sent")
    TransferFactory.create(company=company, kind="hold", message_id=message.pk)


def _old_message(company: Company) -> None:
    MessageFactory.create(company=company, state="failed", created_at=ago(days=200))


def _old_import(company: Company) -> None:
    link_import = LinkImport.objects.create(
        company=company, mode="live", file_name="l.csv", total=1
    )
    LinkImport.objects.filter(pk=link_import.pk).update(created_at=ago(days=30))


MESSAGE_OF_COMPANY = "NEW.company_id = {company} AND NEW.state = 'expired'"

TRIALS = (
    Trial(
        "accounts.make_files",
        csv_exports.JOB.name,
        _file,
        lambda company: CsvExport.objects.filter(company=company, state="ready").exists(),
        "accounts_csvexportpart",
        "NEW.export_id IN (SELECT id FROM accounts_csvexport WHERE company_id = {company})",
    ),
    Trial(
        "channels.watch_deliveries",
        drop_watch.JOB.name,
        _dropped,
        lambda company: DeliveryDrop.objects.filter(company=company).exists(),
        "channels_deliverydrop",
    ),
    Trial(
        "channels.count_days",
        day_counts.JOB.name,
        _counted_day,
        lambda company: DayCount.objects.filter(company=company, messages=1).exists(),
        "channels_daycount",
        age=lambda: StaleDay.objects.update(due_at=ago(seconds=1)),
    ),
    Trial(
        "sweep",  # a thread of each worker
        sweeps.JOB.name,
        _overdue,
        _is_ended,
        "channels_message",
        MESSAGE_OF_COMPANY,
    ),
    Trial(
        "settle",  # likewise
        settlement.JOB.name,
        _entered,
        lambda company: Verification.objects.filter(
            company=company, settled_at__isnull=False
        ).exists(),
        "billing_transfer",
        "NEW.company_id = {company} AND NEW.kind = 'capture'",
    ),
    Trial(
        "channels.purge",
        PURGES.name,
        _old_message,
        lambda company: Message.objects.filter(company=company, phone__endswith="*").exists(),
        "channels_message",
    ),
    Trial(
        "channels.purge",
        PURGES.name,
        _old_import,
        lambda company: not LinkImport.objects.filter(company=company).exists(),
        "links_linkimport",
        "OLD.company_id = {company}",
    ),
)
