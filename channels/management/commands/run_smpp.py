"""`manage.py run_smpp`: the process of an SMPP account."""

from typing import Any

from django.core.management.base import BaseCommand, CommandError, CommandParser

from channels import vendor_webhooks
from channels.deliver import hosting
from channels.vendor_accounts import registry
from processes.monitoring import metrics


class Command(BaseCommand):
    help = "Keep the bind of an SMPP account and send by it until stopped; one process per account."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument(
            "--account", default="smpp", help="smpp, or smpp:kz for the one of SMPP_ACCOUNTS=kz"
        )

    def handle(self, *args: Any, **options: Any) -> None:
        name = options["account"]
        provider = registry.hosted_providers().get(name)
        if provider is None:
            names = ", ".join(registry.hosted_providers()) or "none"
            raise CommandError(
                f"No SMPP account {name!r} is configured (there are: {names}): set SMPP_URL, or "
                "name it in SMPP_ACCOUNTS and set its SMPP_…_URL."
            )
        metrics.start()
        self.stdout.write(f"{name}: started")
        self.stdout.flush()
        try:
            hosting.host(provider, handle=vendor_webhooks.handle_events)
        except hosting.AccountTakenError:
            raise CommandError(f"Another process runs the account {name!r}.") from None
