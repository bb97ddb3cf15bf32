"""`manage.py erase_person PHONE`: erases the data about a person, in every company."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from persons.erasure import NotFinishedError, erase
from persons.person import Person, parse_phone


class Command(BaseCommand):
    help = (
        "Erases everything about a phone, in every company. "
        "What is kept: docs/operations/personal-data.md."
    )

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("phone", help="in any spelling, +79161234567 for example")
        parser.add_argument("--yes", action="store_true", help="do not ask")

    def handle(self, *, phone: str, yes: bool, **_options: Any) -> None:
        number = parse_phone(phone)
        if number is None:
            raise CommandError(f"{phone} is not a phone: write it as +79161234567")
        if not yes and input(f"Erase everything about {number}? Type yes: ") != "yes":
            raise CommandError("Nothing was erased.")
        try:
            counts = erase(person=Person(number))
        except NotFinishedError as busy:
            raise CommandError(
                f"A message to {number} is still open or its code can be entered. Nothing was "
                f"erased: try again after {busy.until:%Y-%m-%d %H:%M:%S %Z}."
            ) from None
        for name, count in counts.items():
            self.stdout.write(f"{name}: {count}")
