"""Seeds made-up history for one company, to demonstrate and benchmark the cabinet."""

from datetime import date
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError, CommandParser

from accounts.models import Company, Mode
from channels.history import day_counts
from otp import demo_history


class Command(BaseCommand):
    help = "Fill the days before today with made-up messages of one company; not in production."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("--company", help="its name; the first one if left out")
        parser.add_argument("--messages", type=int, default=1_000_000)
        parser.add_argument("--days", type=int, default=90)
        parser.add_argument("--mode", choices=Mode.values, default=Mode.LIVE)

    def handle(self, *args: Any, **options: Any) -> None:
        if settings.PRODUCTION:
            raise CommandError("A made-up history has no place in production.")
        company = self._company(options["company"])
        if demo_history.is_seeded(company):
            raise CommandError(f"{company} has a made-up history already.")
        demo_history.seed(
            company=company,
            mode=options["mode"],
            messages=options["messages"],
            days=options["days"],
            on_day=self._print_day,
        )
        day_counts.recount()
        self.stdout.write(f"{company}: {options['messages']} messages in {options['days']} days")

    def _company(self, name: str | None) -> Company:
        rows = Company.objects.filter(name=name) if name else Company.objects.order_by("pk")
        company = rows.first()
        if company is None:
            raise CommandError("There is no such company.")
        return company

    def _print_day(self, day: date) -> None:
        self.stdout.write(f"{day}\r", ending="")
