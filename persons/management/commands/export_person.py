"""`manage.py export_person PHONE`: all data about a person, as JSON."""

from typing import Any

import orjson
from django.core.management.base import BaseCommand, CommandError, CommandParser

from persons.export import export
from persons.person import Person, parse_phone


class Command(BaseCommand):
    help = "Prints everything stored about a phone, in every company, as JSON."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("phone", help="in any spelling, +79161234567 for example")

    def handle(self, *, phone: str, **_options: Any) -> None:
        number = parse_phone(phone)
        if number is None:
            raise CommandError(f"{phone} is not a phone: write it as +79161234567")
        options = orjson.OPT_INDENT_2 | orjson.OPT_UTC_Z
        self.stdout.write(orjson.dumps(export(person=Person(number)), option=options).decode())
