"""Seeds made-up history, to demonstrate the cabinet and to try a database of its later size."""

import time
from datetime import UTC, date, timedelta
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser
from django.db import connection
from django.utils import timezone

from accounts.models import Company, Mode
from billing.wallet import running_balances
from billing.wallet.ledger import DaysSealedError
from channels.history import day_counts
from config.storage.months import bulk_months, earlier_months
from config.storage.months.calendar import month_of
from links.clicks import partitions as click_months
from otp import demo_history
from otp.demo_history import companies

DAYS = 90
MONTH = 30  # days
PROGRESS = 5  # seconds from one line to the next
NOT_ALONE = (
    "Something else is connected to this database, so every row is put into its indexes: twice as"
    " slow as filling months without them."
)
REAL = (
    "This database has companies that are no demo: {name}. Made-up messages cannot be removed"
    " again, and would be counted in what the operator sees. Use a database of its own, or say"
    " --beside-real-companies."
)


class Command(BaseCommand):
    help = (
        "Fill the days before today with made-up messages, 2 KB of disk each: of one company, or"
        " with --companies of many made-up ones. Not in production. With --companies, a run that"
        " was interrupted is continued by the same command, and a larger number of messages adds"
        " to those that are there."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        add = parser.add_argument
        add("--messages", type=int, default=1_000_000)
        add("--company", help="of one company: its name; the first one if left out")
        add("--days", type=int, default=DAYS, help="of one company")
        add("--mode", choices=Mode.values, default=Mode.LIVE, help="of one company")
        add("--companies", type=int, help="so many made-up companies, a few large, most small")
        add("--months", type=int, default=6, help="with --companies: of 30 days, 6 by default")
        add("--seed", default="1", help="with --companies: another one makes other messages")
        add("--beside-real-companies", action="store_true")

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("A made-up history has no place in production.")
        self.started = self.printed = time.monotonic()
        self.total = 0
        try:
            if options["companies"]:
                self._seed_companies(**options)
            else:
                self._seed_company(**options)
        except DaysSealedError as error:
            raise CommandError(str(error)) from None

    def _seed_company(self, *, messages: int, days: int, mode: str, **options: Any) -> None:
        company = self._company(options["company"])
        if demo_history.is_seeded(company):
            raise CommandError(f"{company} has a made-up history already.")
        demo_history.seed(
            company=company, mode=mode, messages=messages, days=days, on_day=self._print_progress
        )
        day_counts.recount()
        self.stdout.write(f"{company}: {messages} messages in {days} days")

    def _company(self, name: str | None) -> Company:
        rows = Company.objects.filter(name=name) if name else Company.objects.order_by("pk")
        company = rows.first()
        if company is None:
            raise CommandError("There is no such company.")
        return company

    def _seed_companies(self, *, messages: int, months: int, seed: str, **options: Any) -> None:
        if options["company"]:
            raise CommandError("Either --company or --companies.")
        if min(messages, months, options["companies"]) < 1:
            raise CommandError("--messages, --months and --companies must be 1 or more.")
        real = companies.real_companies().first()
        if real and not options["beside_real_companies"]:
            raise CommandError(REAL.format(name=real))
        if messages > months * demo_history.BULK and not bulk_months.is_alone():
            self.stdout.write(NOT_ALONE)
        self._create_months(timezone.localdate() - timedelta(days=months * MONTH + 1))
        added = demo_history.seed_companies(
            senders=companies.senders(options["companies"], messages=messages),
            messages=messages,
            days=months * MONTH,
            seed=seed,
            on_chunk=self._print_progress,
        )
        self._count()
        took = time.monotonic() - self.started
        self.stdout.write(f"{added} messages added in {took:.0f} s")

    def _create_months(self, first: date) -> None:
        earlier_months.create(first)
        recent = timezone.now() - timedelta(days=settings.RAW_RETENTION)
        click_months.ensure(*(month_of(at, UTC) for at in (recent, timezone.now())))

    def _count(self) -> None:
        """What the service's own tasks would do meanwhile."""
        day_counts.recount()
        running_balances.store(whole=True)
        with connection.cursor() as cursor:
            cursor.execute("SET statement_timeout = 0")
            cursor.execute("ANALYZE")
            cursor.execute("RESET statement_timeout")

    def _print_progress(self, day: date, count: int) -> None:
        self.total += count
        now = time.monotonic()
        if now - self.printed >= PROGRESS:
            self.printed = now
            rate = self.total / (now - self.started)
            self.stdout.write(f"{day}: {self.total} messages, {rate:.0f} a second")
